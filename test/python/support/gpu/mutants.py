"""Kernels that miss something, which the simulator has to find."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from xdsl.ir import Operation

from glow.backends.cuda.kernels.gpu_builder import GpuKernel
from glow.dialects.gpu import gpu


def copy_of(kernel: GpuKernel) -> gpu.FuncOp:
    """A copy of a kernel's function, in a module of its own."""
    module = kernel.module.clone()
    (function,) = (op for op in module.walk() if isinstance(op, gpu.FuncOp))
    return function


def changed(
    kind: type[Operation], kernel: GpuKernel
) -> Iterator[tuple[gpu.FuncOp, Any]]:
    """The kernel anew for each operation of a kind, with that operation."""
    for number in range(sum(isinstance(op, kind) for op in kernel.function.walk())):
        function = copy_of(kernel)
        yield function, [op for op in function.walk() if isinstance(op, kind)][number]


def removed(kind: type[Operation], kernel: GpuKernel) -> Iterator[gpu.FuncOp]:
    """The kernel without one operation of a kind, for each of them; uses take its operand."""
    for function, op in changed(kind, kernel):
        erase(op)
        yield function


def without(kernel: GpuKernel, kind: type[Operation]) -> gpu.FuncOp:
    """The kernel without operations of a kind, whose uses take the first operand."""
    function = copy_of(kernel)
    for op in [op for op in function.walk() if isinstance(op, kind)]:
        erase(op)
    return function


def erase(op: Operation) -> None:
    """Erase an operation, whose uses take its first operand."""
    for result in op.results:
        result.replace_all_uses_with(op.operands[0])
    op.detach()
    op.erase()
