"""Kernels whose buffers on the stack hold chosen numbers before anybody writes them.

`poisoned` fills each `memref.alloca` of a function at its entry with the number of a new
argument, one for each element type. So one compiled kernel runs with zeros, NaN, and numbers
that are denormal: results must have the same bits, and arithmetic on what was not written shows
as the processor's flag for denormal operands. Arithmetic on denormals takes a hundred times as
long, so what is read and then dropped is not harmless either.
"""

from __future__ import annotations

import ctypes
import ctypes.util
from collections.abc import Callable
from functools import cache
from math import prod
from platform import machine

import numpy as np
import numpy.typing as npt
from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import FunctionType, IndexType, IntegerAttr, MemRefType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from glow.dialects.weight_table import dtype_of

Array = npt.NDArray[np.generic]
INDEX = IndexType()
DENORMAL_OPERAND = 1 << 1
"""The flag in MXCSR: an instruction has read a denormal (Intel SDM, volume 1, 10.2.3.1)."""
FLAGS = 0x3F
ENVIRONMENT_BYTES, MXCSR_OFFSET = 32, 28
"""`fenv_t` of x86-64 in glibc and musl."""

SEES_FLAGS = machine() in ("x86_64", "AMD64")
DENORMALS = {"float16": 1e-6, "bfloat16": 1e-39, "float32": 1e-39, "float64": 1e-310}
POISONS = ("nan", "denormal")
"""What buffers hold besides zeros; of integers the largest number and one in between."""


def stack_buffers(function: func.FuncOp) -> list[memref.AllocaOp]:
    """Returns what a function allocates on the stack."""
    return [op for op in function.walk() if isinstance(op, memref.AllocaOp)]


def element_of(op: memref.AllocaOp) -> Attribute:
    """Returns the element type of a buffer."""
    assert isinstance(op.memref.type, MemRefType)
    return op.memref.type.element_type


def poisoned(function: func.FuncOp) -> tuple[func.FuncOp, list[Attribute]]:
    """Returns a copy with a `memref<1xT>` argument for each element type T on its stack."""
    copy = function.clone()
    buffers = stack_buffers(copy)
    elements = list(dict.fromkeys(map(element_of, buffers)))
    block = copy.body.block
    poison = {
        element: block.insert_arg(MemRefType(element, [1]), len(block.args))
        for element in elements
    }
    copy.function_type = FunctionType.from_lists([a.type for a in block.args], [])
    for buffer in buffers:
        for op in reversed(fill(buffer, poison[element_of(buffer)])):
            parent = buffer.parent
            assert parent is not None
            parent.insert_op_after(op, buffer)
    return copy, elements


def fill(buffer: memref.AllocaOp, poison: SSAValue) -> list[Operation]:
    """Returns operations that store the number of a `memref<1xT>` in all of a buffer."""
    type_ = buffer.memref.type
    assert isinstance(type_, MemRefType)
    size = prod(type_.get_shape())
    flat_type = MemRefType(type_.element_type, [size])
    flat = memref.ReinterpretCastOp.from_dynamic(
        buffer.memref, [0], [size], [1], flat_type
    )
    zero, end, one = (arith.ConstantOp(IntegerAttr(n, INDEX)) for n in (0, size, 1))
    number = memref.LoadOp.get(poison, [zero.result])
    body = Block(arg_types=[INDEX])
    store = memref.StoreOp.get(number.res, flat.result, [body.args[0]])
    body.add_ops([store, scf.YieldOp()])
    loop = scf.ForOp(zero.result, end.result, one.result, [], body)
    return [flat, zero, end, one, number, loop]


def number(element: Attribute, poison: str | None) -> Array:
    """Returns an argument that fills buffers of an element type; None means zeros."""
    dtype = np.dtype(dtype_of(element))
    if poison is None:
        return np.zeros(1, dtype)
    if dtype.kind in "iu":
        most = 2 ** (8 * dtype.itemsize - 1) - 1
        return np.array([most if poison == "nan" else most // 3], dtype)
    return np.array([np.nan if poison == "nan" else DENORMALS[dtype.name]], dtype)


@cache
def library_of_flags() -> ctypes.CDLL:
    """The library of mathematics, which is sought once: by programs that are started for it."""
    return ctypes.CDLL(ctypes.util.find_library("m"))


def reads_denormals(work: Callable[[], object]) -> bool:
    """Whether arithmetic of some work has a denormal operand; False where nobody can tell."""
    if not SEES_FLAGS:
        work()
        return False
    library = library_of_flags()
    environment = ctypes.create_string_buffer(ENVIRONMENT_BYTES)
    control = ctypes.c_uint32.from_buffer(environment, MXCSR_OFFSET)
    library.fegetenv(environment)
    control.value &= ~FLAGS
    library.fesetenv(environment)
    work()
    library.fegetenv(environment)
    return bool(control.value & DENORMAL_OPERAND)
