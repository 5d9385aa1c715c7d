"""Joins kernel calls that pass data on, so that a thread reads what it has just written.

An element-wise call and the 1 x 1 convolution behind it that alone reads its result, as every
layer of a pre-activated network begins, become one call that goes from run to run of pixels:

    elementwise made, x, scale, shift
    conv2d y, made, weights, bias       ->   prologue_conv2d y, x, weights, bias, scale, shift
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from glow.backends.cpu.kernels.convolution.conv2d_spec import Conv2dSpec
from glow.backends.cpu.kernels.convolution.prologue_spec import PrologueConv2dSpec
from glow.backends.cpu.kernels.elementwise.kernel import ElementwiseSpec
from glow.backends.cpu.program.program import (
    KernelCall,
    KernelRequest,
    Program,
    Step,
)
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.target.target import Target

LABEL = "prologue_conv2d"


def fuse_prologues(program: Program, target: Target) -> Program:
    """The program with joined calls."""
    return replace(program, steps=_joined(program.steps, target))


def _joined(steps: Sequence[Step], target: Target) -> tuple[Step, ...]:
    joined: list[Step] = []
    for step in steps:
        if not isinstance(step, KernelCall):
            parts = [_joined(part, target) for part in step.parts]
            joined.append(step.with_parts(parts))
            continue
        before = joined[-1] if joined else None
        both = None
        if isinstance(before, KernelCall):
            both = prologue_convolution(before, step, target)
        if both is None:
            joined.append(step)
        else:
            joined[-1] = both
    return tuple(joined)


def prologue_convolution(
    prologue: KernelCall, convolution: KernelCall, target: Target
) -> KernelCall | None:
    """Both calls as one, if there is a kernel for that."""
    spec = _joint_spec(prologue, convolution)
    if spec is None or not spec.supported(target) or not prologue.feeds_prologue:
        return None
    (fused, *sources), (output, source, *rest) = (
        prologue.bindings,
        convolution.bindings,
    )
    if source != fused or any(map(output.overlaps, sources)):
        return None  # Runs to come would read what this one has written.
    first = sources.pop(spec.first_full)

    def build(name: str, machine: Target) -> Kernel:
        from glow.backends.cpu.kernels.convolution import fused_prologue

        return fused_prologue.build_prologue_conv2d(name, spec, machine)

    request = KernelRequest(LABEL, (LABEL, spec), build)
    return KernelCall(request, (output, first, *rest, *sources))


def _joint_spec(
    prologue: KernelCall, convolution: KernelCall
) -> PrologueConv2dSpec | None:
    first, second = _spec_of(prologue), _spec_of(convolution)
    if isinstance(first, ElementwiseSpec) and type(second) is Conv2dSpec:
        return PrologueConv2dSpec(second, first)
    return None


def _spec_of(call: KernelCall) -> object:
    """What the kernel of a call is built from, without its label."""
    spec = call.kernel.spec
    return cast("tuple[object, ...]", spec)[-1] if isinstance(spec, tuple) else spec
