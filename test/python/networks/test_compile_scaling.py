"""Compilation takes linear time: the calls of Python functions grow as the nodes do.

Calls are counted, not seconds, so that the test says the same on every machine. What LLVM
does is bounded by the length of the longest kernel, which is looked at too.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType

import pytest
from xdsl.dialects.builtin import ModuleOp

from benchmarks.networks.scaling import SCALING_NETWORKS
from glow.backends.cpu.native_code import main_with_declarations
from glow.backends.cpu.passes.instr_to_loops import build_program, declaration
from glow.backends.cpu.program.kernel_table import kernel_table
from glow.compiler import load, lower_to
from glow.dialects import instr
from glow.lowering.target.target import Target
from glow.passes.instr.stack_data_parallel import MOST_MEMBERS
from glow.signature import main_function

SIZES = (60, 120, 240)


def count_calls(work: Callable[[], object]) -> int:
    """Returns how many Python functions are called, and generators resumed."""
    calls = 0

    def count(_: FrameType, event: str, __: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls


def lowered(name: str, size: int) -> ModuleOp:
    """Returns the planned instructions of a synthetic network."""
    module = load(SCALING_NETWORKS[name](size).SerializeToString())
    lower_to(module, "instr", target="avx2")
    return module


def build_calls(module: ModuleOp) -> None:
    """Build the function that calls the kernels, and each kernel once."""
    target = Target.from_string("avx2")
    program = build_program(main_function(module), target, kernel_table("cpu"))
    kernels = {
        name: request.build(name, target)
        for name, request in program.requests().items()
    }
    assert [declaration(kernel.function) for kernel in kernels.values()]
    main_with_declarations(program, kernels, target)


def compile_all(name: str, size: int) -> None:
    """Everything but LLVM."""
    build_calls(lowered(name, size))


@pytest.mark.parametrize("name", SCALING_NETWORKS)
def test_work_grows_as_the_nodes(name: str) -> None:
    compile_all(name, 4)  # what is loaded or computed once
    small, middle, large = (
        count_calls(lambda size=size: compile_all(name, size)) for size in SIZES
    )
    growth = (large - middle) / (middle - small)
    assert growth < 2.2, f"doubling the nodes takes {growth:.2f} times the calls"


def test_stacks_have_a_bounded_length() -> None:
    module = lowered("functions", 3 * MOST_MEMBERS + 1)
    lengths = [
        sum(op.name.startswith(("math.", "arith.negf")) for op in stack.body.block.ops)
        for stack in module.walk()
        if isinstance(stack, instr.StackedOp)
    ]
    assert len(lengths) > 1
    assert max(lengths) <= 2 * MOST_MEMBERS
