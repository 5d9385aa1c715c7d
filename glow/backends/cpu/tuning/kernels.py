"""Single kernels in native code, on memory of their own: what the search measures.

A kernel is built from its bare specification: with a bias where it has one, without an epilogue.
A Winograd convolution is its phases, one behind the other.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import Float32Type, MemRefType, i8

from glow.backends.cpu.kernels.attention.kernel import build_attention
from glow.backends.cpu.kernels.attention.spec import AttentionSpec
from glow.backends.cpu.kernels.channelwise.depthwise import (
    DepthwiseSpec,
    build_depthwise,
)
from glow.backends.cpu.kernels.channelwise.int8_depthwise import (
    Int8DepthwiseSpec,
    build_int8_depthwise,
)
from glow.backends.cpu.kernels.channelwise.planes import BlockedPlanes
from glow.backends.cpu.kernels.convolution.conv2d import build_conv2d
from glow.backends.cpu.kernels.convolution.conv2d_spec import Conv2dSpec
from glow.backends.cpu.kernels.convolution.direct_conv import (
    DirectConvSpec,
    build_direct_conv,
)
from glow.backends.cpu.kernels.convolution.int8_conv2d_spec import Int8Conv2dSpec
from glow.backends.cpu.kernels.convolution.matrix_conv2d import build_int8_convolution
from glow.backends.cpu.kernels.int8_winograd.kernel import build_int8_winograd
from glow.backends.cpu.kernels.int8_winograd.spec import Int8WinogradSpec
from glow.backends.cpu.kernels.matmul.batch_matmul import build_batch_matmul
from glow.backends.cpu.kernels.matmul.batch_matmul_spec import BatchMatmulSpec
from glow.backends.cpu.kernels.matmul.block_quantized import build_block_quantized
from glow.backends.cpu.kernels.matmul.block_quantized_spec import BlockQuantizedSpec
from glow.backends.cpu.kernels.matmul.int8_batch_matmul import (
    Int8BatchMatmulSpec,
    build_int8_batch_matmul,
)
from glow.backends.cpu.kernels.matmul.matmul import build_matmul
from glow.backends.cpu.kernels.matmul.matmul_spec import MatmulSpec
from glow.backends.cpu.kernels.strassen.kernel import build_strassen
from glow.backends.cpu.kernels.strassen.spec import StrassenSpec
from glow.backends.cpu.kernels.winograd.kernel import (
    build_winograd_phase,
    winograd_phases,
)
from glow.backends.cpu.kernels.winograd.spec import WinogradSpec
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.target.target import Target
from glow.runtime.buffers import aligned_zeros
from glow.runtime.testing import CompiledFunction

NAME = "kernel"

Memory: TypeAlias = dict[str, npt.NDArray[np.uint8]]
"""Buffers by their names."""

Parts: TypeAlias = Iterator[tuple[Kernel, Sequence[str]]]
"""The kernels that run one behind the other, with the names of their buffers."""


@dataclass(frozen=True)
class Trial:
    """A kernel in one configuration: a call runs all its work items on this thread."""

    run: Callable[[], None]
    keeps: Sequence[object]
    """Code and memory, which live as long."""

    def __call__(self) -> None:
        """Run it once."""
        self.run()


def has_kernel(spec: object) -> bool:
    """Whether a specification's kernel can be measured alone."""
    return type(spec) in BUILDERS


def build_trial(spec: Any, target: Target, buffers: Memory | None = None) -> Trial:
    """The kernel of a configured specification, ready to run.

    Candidates of one kernel that are given the same `buffers` run on the same memory: where it
    lies makes a difference of 5 %, which would be noise of each candidate.
    """
    buffers = {} if buffers is None else buffers
    calls: list[tuple[Callable[..., None], list[int]]] = []
    code: list[CompiledFunction] = []
    used: list[npt.NDArray[np.uint8]] = []
    for kernel, names in BUILDERS[type(spec)](spec, target):
        function = CompiledFunction(kernel.function, NAME, target)
        inputs = kernel.function.function_type.inputs
        memory = [cast("MemRefType", k) for k in inputs if isinstance(k, MemRefType)]
        arguments: list[int] = []
        for number, kind in enumerate(memory):
            name = names[number] if number < len(names) else f"extra{number}"
            if name not in buffers or len(buffers[name]) < memory_bytes(kind):
                buffers[name] = filled(kind)
            used.append(buffers[name])
            arguments.append(buffers[name].ctypes.data)
        kinds = [ctypes.c_void_p] * len(memory) + [ctypes.c_int64] * 2
        call = ctypes.CFUNCTYPE(None, *kinds)(function.address)
        calls.append((call, [*arguments, 0, kernel.work_items]))
        code.append(function)

    def run() -> None:
        for call, arguments in calls:
            call(*arguments)

    if len(calls) == 1:
        call, arguments = calls[0]
        return Trial(partial(call, *arguments), [code, used])
    return Trial(run, [code, used])


def memory_bytes(kind: MemRefType) -> int:
    """The bytes of memory of a type, a few at least."""
    return max(64, prod(kind.get_shape()) * types.byte_width(kind.element_type))


def filled(kind: MemRefType) -> npt.NDArray[np.uint8]:
    """Aligned memory of a type: small floats, or zeros of other elements."""
    memory = aligned_zeros(memory_bytes(kind))
    if isinstance(kind.element_type, Float32Type):
        count = prod(kind.get_shape())
        values = np.random.default_rng(0).standard_normal(count, np.float32)
        memory[: values.nbytes].view(np.float32)[:] = values / 10
    return memory


def _named_first(build: Callable[[str, Any, Target], Kernel]) -> Any:
    def parts(spec: Any, target: Target) -> Parts:
        yield build(NAME, spec, target), ()

    return parts


def _named_last(build: Callable[[Any, Target, str], Kernel]) -> Any:
    def parts(spec: Any, target: Target) -> Parts:
        yield build(spec, target, NAME), ()

    return parts


def _planes(spec: BlockedPlanes, target: Target) -> Parts:
    if spec.element == i8:
        yield build_int8_depthwise(NAME, Int8DepthwiseSpec(spec), target), ()
    else:
        whole = DepthwiseSpec(spec, has_bias=True)
        yield build_depthwise(NAME, whole, target), ()


def _winograd(spec: WinogradSpec, target: Target) -> Parts:
    for phase in winograd_phases(replace(spec, has_bias=True), target):
        yield build_winograd_phase(NAME, phase, target), phase.operands


BUILDERS: Mapping[type, Callable[[Any, Target], Parts]] = {
    Conv2dSpec: _named_first(build_conv2d),
    Int8Conv2dSpec: _named_first(build_int8_convolution),
    DirectConvSpec: _named_first(build_direct_conv),
    BlockedPlanes: _planes,
    WinogradSpec: _winograd,
    Int8WinogradSpec: _named_first(build_int8_winograd),
    MatmulSpec: _named_last(build_matmul),
    BatchMatmulSpec: _named_last(build_batch_matmul),
    Int8BatchMatmulSpec: _named_last(build_int8_batch_matmul),
    BlockQuantizedSpec: _named_last(build_block_quantized),
    AttentionSpec: _named_last(build_attention),
    StrassenSpec: _named_last(build_strassen),
}
"""By the kind of a specification; of others only the network tells."""
