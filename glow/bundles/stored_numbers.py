"""What the integers of a network's inputs and outputs stand for, from its optimized graph."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import ReturnOp
from xdsl.ir import SSAValue

from glow.bundles.bundle import Quantization
from glow.dialects.quant import CastOp, quantization_of
from glow.signature import main_function, signature_of


def quantizations(module: ModuleOp) -> dict[str, Quantization]:
    """By the name of an input or output that is cast to or from quantized elements.

    Of floats it is what they are rounded to.
    """
    function = main_function(module)
    signature = signature_of(function)
    found: dict[str, Quantization] = {}
    for info, value in zip(signature.inputs, function.body.block.args, strict=True):
        users = [use.operation for use in value.uses]
        if len(users) == 1 and isinstance(users[0], CastOp):
            found |= dict(_parameters(info.name, users[0].results[0]))
    last = function.body.block.last_op
    assert isinstance(last, ReturnOp)
    for info, value in zip(signature.outputs, last.arguments, strict=True):
        if isinstance(value.owner, CastOp):
            found |= dict(_parameters(info.name, value.owner.operands[0]))
    return found


def _parameters(name: str, value: SSAValue) -> Iterator[tuple[str, Quantization]]:
    """The name with the parameters of a value of one scale."""
    data = quantization_of(value.type)
    if data is not None and data.axis is None:
        yield name, Quantization(data.scales[0], data.zero_points[0])
