"""The choices of a quantization, checked once."""

from __future__ import annotations

from dataclasses import dataclass

from glow.dialects.errors import GlowError
from glow.passes.quantization.profiling.calibration import METHODS
from glow.passes.quantization.profiling.schema import Schema

ACTIVATIONS = ("auto", "static", "per-row", "per-block", "float")
OF_BLOCKS = ("per-block", "float")
"""What activations are where weights have a scale for each block."""
WEIGHTS = {"int8": 8, "int4": 4}
"""Bits of a weight."""
ATTENTION = ("float", "int8")
EMBEDDINGS = {"float": 0, "int8": 8, "int4": 4}
"""Bits of the elements of embedding tables; 0 keeps floats."""
FIDELITIES = ("strict", "fused")
REQUANTIZE = ("auto", "float", "fixed")
BIASES = ("int32", "int8")
INTERFACES = ("float", "integer")


def check_choice(what: str, value: str, choices: tuple[str, ...]) -> None:
    """Raise GlowError listing the choices unless `value` is one of them."""
    if value not in choices:
        raise GlowError(
            f"unknown {what} '{value}'", hint=f"one of {', '.join(choices)}"
        )


@dataclass(frozen=True)
class QuantizationOptions:
    """How a network is quantized; the defaults need no tuning."""

    schema: str = "asymmetric"
    """asymmetric, symmetric, symmetric-uint8 or power-of-two scales of activations."""
    precision: str = "int8"
    """int8 or int16 activations; weights have 8 bits."""
    per_channel: bool = True
    """A scale for each output channel of the weights."""
    calibration: str = "minmax"
    """minmax, mse, percentile or entropy."""
    activations: str = "auto"
    """static scales, or per-row for linear layers; auto: per-row in transformers. float: only
    weights of linear layers are quantized, in blocks; per-block: products may round their rows."""
    weights: str = "int8"
    """int8, or where activations are float or per-block int4."""
    requantize: str = "auto"
    """float multipliers, or fixed-point ones; auto: fixed where the target cannot round floats."""
    bias: str = "int32"
    """int32 at the scale of the sums; int8 rounds biases to 8 bits of their own first."""
    bias_correction: bool = True
    """Correct biases by the mean error that the rounding of weights causes."""
    equalization: bool = True
    """Even out the ranges of channels, where they differ much: between convolutions, and
    from the inputs of linear layers into their weights."""
    fidelity: str = "strict"
    """strict rounds every value to 8 bits; fused keeps what a sum reads at once in float."""
    embeddings: str = "float"
    """float, int8 or int4 tables with a scale for each row."""
    attention: str = "float"
    """float or int8 products of two activations, such as queries times keys; int8 where
    activations are static."""
    interface: str = "float"
    """float inputs and outputs, or the stored integer of those that are quantized."""
    keep: tuple[str, ...] = ()
    """Nodes that stay float: names of nodes or values, or kinds such as `matmul`."""

    def __post_init__(self) -> None:
        Schema(self.schema, self.precision)
        check_choice("calibration", self.calibration, tuple(METHODS))
        check_choice("activations", self.activations, ACTIVATIONS)
        check_choice("weights", self.weights, tuple(WEIGHTS))
        if self.weights != "int8" and self.activations not in OF_BLOCKS:
            raise GlowError(
                f"weights={self.weights} need scales of blocks",
                hint="activations=float, or per-block",
            )
        check_choice("attention", self.attention, ATTENTION)
        check_choice("embeddings", self.embeddings, tuple(EMBEDDINGS))
        check_choice("fidelity", self.fidelity, FIDELITIES)
        check_choice("bias", self.bias, BIASES)
        check_choice("interface", self.interface, INTERFACES)
        check_choice("requantize", self.requantize, REQUANTIZE)
