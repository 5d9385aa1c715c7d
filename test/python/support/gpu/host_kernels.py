"""The kernels of a network in the host's memory, for the driver that simulates a GPU.

Those for many threads run in the simulator, those of loops as code of this machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from support.gpu.fake_cuda import ENCODED, Encoded, Launched, view
from xdsl.dialects.builtin import MemRefType
from xdsl.dialects.func import FuncOp

from glow.backends.cuda.kernels.gpu_builder import GpuKernel
from glow.compiler import load, lower
from glow.dialects.gpu import gpu
from glow.dialects.gpu.bulk_copies import TensorMapType
from glow.dialects.weight_table import dtype_of
from glow.interpreter.simt import run_kernel
from glow.lowering.loop_builder.kernel import is_kernel
from glow.options import CompileOptions
from glow.runtime.testing import compile_function


def simulated(kernel: GpuKernel) -> Launched:
    """A kernel in the simulator."""

    def launch(
        grid: Sequence[int], block: Sequence[int], numbers: Sequence[int]
    ) -> None:
        function = kernel.function
        assert list(grid) == list(function.known_grid_size.iter_values())
        assert list(block) == list(function.known_block_size.iter_values())
        left, buffers = iter(numbers), list[np.ndarray]()
        for argument in function.body.block.args:
            if isinstance(argument.type, TensorMapType):
                check_map(ENCODED[next(left)], argument.type, buffers[-1])
                continue
            shape, element = argument.type.get_shape(), argument.type.element_type
            buffers.append(view(next(left) + next(left), shape, dtype_of(element)))
        assert list(left) == []
        run_kernel(function, buffers)

    return launch


def check_map(given: Encoded, type_: TensorMapType, buffer: np.ndarray) -> None:
    """What the driver was told of a buffer is what the kernel's text says."""
    assert given == Encoded(
        {"f16": 6, "f32": 7, "bf16": 9}[str(type_.tensor.element_type)],
        buffer.ctypes.data,
        list(buffer.shape[::-1]),
        list(buffer.strides[-2::-1]),
        list(type_.tensor.get_shape()[::-1]),
        {"none": 0, "swizzle_128b": 3}[type_.swizzle.data],
    )


def host_kernels(path: Path, options: CompileOptions) -> dict[str, Launched]:
    """The kernels of a network by the names of their entries."""
    found: dict[str, Launched] = {}
    for op in lower(load(path), "loops", options).ops:
        if isinstance(op, gpu.ModuleOp):
            kernel = GpuKernel.of(op)
            found[kernel.function.sym_name.data] = simulated(kernel)
        elif isinstance(op, FuncOp) and is_kernel(op):
            found[f"{op.sym_name.data}_entry"] = on_host(op)
    return found


def on_host(function: FuncOp) -> Launched:
    """A kernel of loops, whose items the threads of a grid share."""
    types = [t for t in function.function_type.inputs if isinstance(t, MemRefType)]
    compiled = compile_function(function)

    def launch(
        grid: Sequence[int], block: Sequence[int], numbers: Sequence[int]
    ) -> None:
        *places, items = numbers
        assert grid[0] * block[0] >= items > (grid[0] - 1) * block[0]
        buffers = [
            view(base + offset, type_.get_shape(), dtype_of(type_.element_type))
            for base, offset, type_ in zip(
                places[::2], places[1::2], types, strict=True
            )
        ]
        compiled(*buffers, 0, items)

    return launch
