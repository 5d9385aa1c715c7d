"""Pieces that all selectors use."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import TypeVar, cast

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, f32, i1
from xdsl.ir import Attribute, SSAValue

from glow.backends.cpu.dialect import EpilogueOp
from glow.backends.cpu.dialect.config_attributes import panels_of
from glow.backends.cpu.program.program import Invocation, KernelRequest
from glow.dialects import instr
from glow.dialects.errors import GlowError
from glow.dialects.locations import place_of
from glow.dialects.node import element_of, node_name, shape_of
from glow.dialects.small_types import is_small, small_bits
from glow.dialects.weights import dense_to_numpy, weights_of
from glow.lowering.loop_builder.epilogue import OperandLayout
from glow.lowering.loop_builder.ir_types import signless, storage_type
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.loop_builder.scalar_region import RegionEpilogue, ScalarRegion
from glow.lowering.target.target import Target

Spec = TypeVar("Spec", bound=Hashable)

OUTSIDE = "an index is outside of its axis"


def stored_element(buffer: SSAValue) -> Attribute:
    """The element type of a buffer as kernels see it: without a sign, i1 as a byte."""
    return storage_type(element_of(buffer))


def known_numbers(buffer: SSAValue) -> npt.NDArray[np.int64] | None:
    """The integers in a buffer of constants, or None."""
    owner = buffer.owner
    if not isinstance(owner, instr.WeightOp):
        return None
    if isinstance(owner.value, DenseIntOrFPElementsAttr):
        return dense_to_numpy(owner.value).astype(np.int64)
    name = owner.weight_name
    return None if name is None else weights_of(owner)[name].astype(np.int64)


def are_inside(places: SSAValue, extent: int) -> bool:
    """Whether all numbers of a buffer are known, and in [0, extent)."""
    numbers = known_numbers(places)
    if numbers is None:
        return False
    return bool(np.all(numbers >= 0)) and bool(np.all(numbers < extent))


def stored_number(buffer: SSAValue, number: float) -> float:
    """What kernels write for a number: the byte that holds one of a type of storage."""
    element = element_of(buffer)
    return small_bits(number, element) if is_small(element) else number


def is_unsigned(buffer: SSAValue) -> bool:
    """Whether the elements of a buffer are unsigned integers or booleans."""
    element = element_of(buffer)
    return element == i1 or element != signless(element)


def require_f32(op: instr.InstructionOp) -> None:
    """Raise GlowError unless an instruction reads f32 only."""
    for buffer in op.ins:
        element = element_of(buffer)
        if element != f32:
            name = op.name.removeprefix("instr.")
            raise GlowError(
                f"the cpu backend computes {name} in f32 only, not {element}",
                node=node_name(op),
            )


def invoke(
    label: str,
    spec: Spec,
    build: Callable[[Spec, Target, str], Kernel],
    buffers: Sequence[SSAValue],
    writes: int = 1,
) -> list[Invocation]:
    """One kernel, built by `build(spec, target, name)`, on the buffers."""
    request = KernelRequest(
        label, (label, spec), lambda name, target: build(spec, target, name)
    )
    return [Invocation(request, buffers, writes)]


def reporting(
    label: str,
    spec: Spec,
    build: Callable[[Spec, Target, str], Kernel],
    buffers: Sequence[SSAValue],
    report: str = OUTSIDE,
) -> list[Invocation]:
    """One kernel that notes in a byte, its last argument, what `report` says."""
    return [
        replace(part, report=report) for part in invoke(label, spec, build, buffers)
    ]


def named_first(
    build: Callable[[str, Spec, Target], Kernel],
) -> Callable[[Spec, Target, str], Kernel]:
    """A builder that takes the name first, as `invoke` calls it."""
    return lambda spec, target, name: build(name, spec, target)


def checked(
    op: instr.InstructionOp,
    spec: Spec,
    wrong_config: Callable[[Spec, Target], str | None],
    target: Target,
) -> Spec:
    """The specification; raises GlowError where it cannot be configured as the text says.

    `wrong_config` says what the target or the shapes do not allow, if so.
    """
    attributes = op.attributes_view()
    if attributes.get("config") is None:
        return spec
    panels, lanes = panels_of(attributes), target.lanes(32)
    wrong = wrong_config(spec, target)
    if panels is not None and panels.lanes not in (lanes, max(lanes, target.dot_bytes)):
        wrong = f"panels of {panels.lanes} lanes: a register of the target has {lanes}"
    if wrong is not None:
        message = f"{op.name} cannot have {wrong}"
        raise GlowError(message, node=node_name(op), location=place_of(op))
    return spec


def epilogue_of(
    op: instr.InstructionOp, epilogue_operands: Sequence[SSAValue]
) -> RegionEpilogue | None:
    """The epilogue of an instruction's region over its epilogue operands."""
    if not op.regions or not op.regions[0].blocks:
        return None
    node, result = op.node, shape_of(op.outs[0])
    assert node is not None
    assert issubclass(node, EpilogueOp)
    kinds: tuple[OperandLayout, ...] = tuple(
        cast("OperandLayout", node.kind_of_operand(shape_of(operand), result))
        for operand in epilogue_operands
    )
    return RegionEpilogue(ScalarRegion(op.regions[0].block), kinds)
