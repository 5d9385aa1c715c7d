"""The networks that the benchmarks measure and the tests run.

Each is built from a seed and the `onnx` package alone, so that a fresh machine needs no
download: the nine model-zoo graphs of the `onnx` package, and three families written here
for what those lack (depthwise convolution, attention, recurrence).

Weights are drawn per tensor from a generator seeded by the tensor's name, so that a network
is the same bytes on every machine, whatever else was built before it.
"""

from collections.abc import Callable
from functools import partial

from onnx import ModelProto

from benchmarks.networks import (
    bert,
    experts,
    few_bits,
    grouped,
    light,
    lstm,
    mobilenet_v2,
    perceptron,
    pre_norm,
    quantized,
    relative,
    spatial,
    temporal,
    windows,
)
from benchmarks.networks.inputs import make_inputs
from benchmarks.networks.reference import evaluate_reference, reference_of

__all__ = [
    "BATCHED_NETWORKS", "FEW_BITS_NETWORKS", "LARGE_NETWORKS", "NETWORKS", "OPERATOR_NETWORKS",
    "QUANTIZED_NETWORKS", "TINY_NETWORKS", "TINY_WIDER_NETWORKS", "TRANSFORMER_NETWORKS",
    "WIDER_NETWORKS", "evaluate_reference", "make_inputs", "reference_of",
]  # fmt: skip

NETWORKS: dict[str, Callable[[], ModelProto]] = {
    **{name: partial(light.build, name) for name in light.FILES},
    "mobilenet_v2": mobilenet_v2.build,
    "bert_base": partial(bert.build, bert.BERT_BASE),
    "minilm": partial(bert.build, bert.MINILM),
    "lstm": lstm.build,
}
"""The full-size networks by name; building one takes up to a few seconds."""

LARGE_NETWORKS = frozenset({"alexnet", "bert_base", "vgg19", "zfnet512"})
"""Those of `NETWORKS` with hundreds of megabytes of weights."""

BATCHED_NETWORKS: dict[str, Callable[[], ModelProto]] = {
    "resnet50_batch8": partial(light.build_batch, "resnet50", 8)
}
"""Networks that take several images at once."""

WIDER_NETWORKS: dict[str, Callable[[], ModelProto]] = {
    "regnet": partial(grouped.build, grouped.REGNET),
    "resnext": partial(grouped.build, grouped.RESNEXT),
    "vit": pre_norm.build_vit,
    "whisper_encoder": pre_norm.build_whisper,
    "gpt2_prefill": pre_norm.build_gpt2,
    "gpt2_decode": pre_norm.build_gpt2_decode,
    "swin": windows.build,
    "t5_encoder": relative.build,
    "tcn": temporal.build_tcn,
    "wavenet": temporal.build_wavenet,
    "text_cnn": temporal.build_text,
    "mlp_batch256": perceptron.build,
    "dilated": spatial.build_dilated,
    "video": spatial.build_video,
    "graph_sage": spatial.build_sage,
    "experts_prefill": partial(experts.build, experts.PREFILL),
    "experts_decode": partial(experts.build, experts.DECODE),
}
"""Kinds of networks that the tables of docs/performance.md lack."""

FEW_BITS_NETWORKS: dict[str, Callable[[], ModelProto]] = {
    f"{name}_{scheme}": partial(few_bits.build, WIDER_NETWORKS[name], level)
    for name in ("gpt2_prefill", "gpt2_decode")
    for scheme, level in (("int4", few_bits.FLOATS), ("int4a8", few_bits.ROUNDED))
} | {
    f"{size.name}_int4": partial(experts.build_few_bits, size)
    for size in (experts.PREFILL, experts.DECODE)
}
"""Language models with weights of 4 bits, the second ones with rounded activations."""

CONVOLUTIONAL = ("resnet50", "squeezenet", "densenet121", "mobilenet_v2")
TRANSFORMERS = ("bert_base", "minilm")


def _quantized(
    schemes: tuple[str, ...], names: tuple[str, ...], *, operators: bool = False
) -> dict[str, Callable[[], ModelProto]]:
    return {
        f"{name}_{scheme}": partial(
            quantized.build, NETWORKS[name], scheme, operators=operators
        )
        for name in names
        for scheme in schemes
    }


QUANTIZED_NETWORKS = {
    **_quantized(quantized.STATIC, CONVOLUTIONAL),
    **_quantized(quantized.SCHEMES, TRANSFORMERS),
}
"""Networks of the quantizer of ONNX Runtime, which they need, named after their scheme."""

OPERATOR_NETWORKS = _quantized(
    quantized.STATIC, (*CONVOLUTIONAL, *TRANSFORMERS), operators=True
)
"""The static ones of them in the form of integer operators."""

TRANSFORMER_NETWORKS = {"bert_base": bert.BERT_BASE, "minilm": bert.MINILM}
"""Those of `NETWORKS` that ONNX Runtime's optimizer of transformers knows, and their sizes."""

TINY_NETWORKS: dict[str, Callable[[], ModelProto]] = {
    "mobilenet_v2": partial(mobilenet_v2.build, mobilenet_v2.TINY),
    "bert": partial(bert.build, bert.TINY),
    "lstm": partial(lstm.build, lstm.TINY),
}
"""The same graphs small enough for a test; the model-zoo graphs cannot shrink."""

TINY_WIDER_NETWORKS: dict[str, Callable[[], ModelProto]] = {
    "regnet": partial(grouped.build, grouped.TINY),
    "vit": partial(pre_norm.build_vit, pre_norm.TINY_VIT),
    "gpt2_prefill": partial(pre_norm.build_gpt2, pre_norm.TINY_GPT2),
    "gpt2_decode": partial(pre_norm.build_gpt2_decode, pre_norm.TINY_DECODE),
    "swin": partial(windows.build, windows.TINY),
    "t5_encoder": partial(relative.build, relative.TINY),
    "tcn": partial(temporal.build_tcn, temporal.TINY_TCN),
    "wavenet": partial(temporal.build_wavenet, temporal.TINY_WAVENET),
    "text_cnn": partial(temporal.build_text, temporal.TINY_TEXT, words=30),
    "mlp_batch256": partial(perceptron.build, perceptron.TINY),
    "dilated": partial(spatial.build_dilated, spatial.TINY_DILATED),
    "video": partial(spatial.build_video, spatial.TINY_VIDEO),
    "graph_sage": partial(spatial.build_sage, spatial.TINY_SAGE),
    "experts_prefill": partial(experts.build, experts.TINY),
}
"""Those of `WIDER_NETWORKS` small enough for a test."""
