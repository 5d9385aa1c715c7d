"""Makes weights of the globals that programs for IREE keep them in.

    util.global private @w = #flow.parameter.named<"model"::"w"> : tensor<2xf32>
    %0 = util.global.load @w : tensor<2xf32>
  becomes
    %0 = glow.constant @w : tensor<2xf32>

with the values of the weight file beside the program, under the names of the parameters.
"""

from __future__ import annotations

from typing import NoReturn

from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    ModuleOp,
    TensorType,
)
from xdsl.ir import Attribute, Operation
from xdsl.utils.hints import isa

from glow.dialects.errors import GlowError
from glow.dialects.foreign.iree import GlobalLoadOp, GlobalOp, ParameterAttr
from glow.dialects.glow import ConstantOp
from glow.dialects.locations import place_of
from glow.dialects.weights import weights_of
from glow.passes.rewriting.node_builder import erase


def take_parameters(module: ModuleOp) -> None:
    """Replace what loads globals; GlowError at those that are no constant tensors."""
    found = [op for op in module.walk() if isinstance(op, GlobalOp)]
    if not found:
        return
    globals_ = {op.sym_name.data: op for op in found if op.sym_name is not None}
    for op in list(module.walk()):
        if isinstance(op, GlobalLoadOp):
            _replace(op, globals_)
    for op in found:
        erase(op)
    weights_of(module)  # So that the file beside the program is looked for.


def _replace(op: GlobalLoadOp, found: dict[str, GlobalOp]) -> None:
    name = op.loaded.string_value() if op.loaded is not None else ""
    source = found.get(name)
    held = op.results[0].type if len(op.results) == 1 else None
    if source is None or not isa(held, TensorType[Attribute]):
        raise GlowError(f"there is no tensor '{name}' to load", location=place_of(op))
    if source.type != held:
        _refuse(
            source, f"the global '{name}' is of {source.type}, and loaded as {held}"
        )
    if source.is_mutable is not None:
        _refuse(source, f"the global '{name}' is mutable")
    constant = _constant(source, name, held)
    constant.location = op.location
    block = op.parent
    assert block is not None
    block.insert_op_before(constant, op)
    constant.result.name_hint = op.results[0].name_hint
    op.results[0].replace_all_uses_with(constant.result)
    erase(op)


def _constant(source: GlobalOp, name: str, held: TensorType[Attribute]) -> ConstantOp:
    """Of the name of a parameter, or of the value that the text holds."""
    value = source.initial_value
    if isinstance(value, ParameterAttr):
        if value.held != held:
            _refuse(source, f"the parameter of '{name}' is of {value.held}")
        return ConstantOp.from_name(value.key.data, held)
    if not isa(value, DenseIntOrFPElementsAttr) or value.type != held:
        _refuse(source, f"the global '{name}' has no value that is read")
    return ConstantOp.build_node([], [held], value=value)


def _refuse(op: Operation, reason: str) -> NoReturn:
    raise GlowError(reason, location=place_of(op))
