"""Prints what networks need: memory beside ONNX Runtime's, kernels and bytes moved.

python benchmarks/memory.py resnet50.onnx bert_base.onnx ...

The arena is what values between nodes take; the bound is the most that is alive at once,
which no plan can beat. ONNX Runtime's arena is what its log says it allocated after three
runs of the network, once as it comes and once with an arena that grows by no more than
is asked for and without patterns. Weights count for neither: ONNX Runtime
is told to reserve memory of its own for them, and to pack none.

Kernels and bytes are those of one inference before any optimization, each node lowered
and given a buffer, and after it; bytes are the sizes of all buffers that kernels name. A
recurrent layer is one kernel, whatever its steps.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

sys.path.insert(0, str(Path(__file__).parents[1]))

from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import IntegerAttr, MemRefType, ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.transforms.canonicalize import CanonicalizePass

from glow.compiler import load, lower_to, run_passes
from glow.diagnostics import run_reporting
from glow.dialects import instr
from glow.dialects.function_attributes import ARENA_BYTES, LIVE_BYTES
from glow.lowering.eliminate_empty_tensors import EliminateEmptyTensorsPass
from glow.lowering.glow_to_instr import GlowToInstrPass
from glow.lowering.lower_nodes.lower_nodes import LowerNodesPass
from glow.lowering.lower_quantized.lower_quantized import LowerQuantizedPass
from glow.passes.instr.buffers import byte_size
from glow.signature import main_function

UNOPTIMIZED = (
    CanonicalizePass(),
    EliminateEmptyTensorsPass(),
    LowerQuantizedPass(),
    LowerNodesPass("cpu"),
    GlowToInstrPass(),
)

RUNTIME = """
import sys
import numpy as np
import onnxruntime as ort

def zeros(info):
    kind = info.type[len("tensor("):-1].replace("float", "float32", 1)
    kind = {"float3216": "float16"}.get(kind, kind)
    return np.zeros([n if isinstance(n, int) else 1 for n in info.shape], kind)

path, lean = sys.argv[1], sys.argv[2] == "lean"
ort.set_default_logger_severity(0)
options = ort.SessionOptions()
options.intra_op_num_threads = 1
options.log_severity_level = 3
options.add_session_config_entry("session.use_device_allocator_for_initializers", "1")
options.add_session_config_entry("session.disable_prepacking", "1")
if lean:
    options.enable_mem_pattern = False
    options.add_session_config_entry("session.use_env_allocators", "1")
    memory = ort.OrtMemoryInfo(
        "Cpu", ort.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, ort.OrtMemType.DEFAULT)
    same_as_requested = ort.OrtArenaCfg({"arena_extend_strategy": 1})
    ort.create_and_register_allocator(memory, same_as_requested)
session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
inputs = {info.name: zeros(info) for info in session.get_inputs()}
for _ in range(3):
    session.run(None, inputs)
"""


@dataclass(frozen=True)
class Work:
    """What one inference does."""

    kernels: int
    bytes: int


@dataclass(frozen=True)
class Row:
    """One network."""

    name: str
    arena: int
    bound: int
    runtime: int | None
    lean_runtime: int | None
    before: Work
    after: Work


def measure(path: Path) -> Row:
    """All figures of an ONNX file."""
    plain = load(path)
    run_passes(plain, UNOPTIMIZED)
    before = work_of(plain)
    module = load(path)
    lower_to(module, "instr")
    arena, bound = (
        cast("IntegerAttr", main_function(module).attributes[name]).value.data
        for name in (ARENA_BYTES, LIVE_BYTES)
    )
    return Row(
        path.stem,
        arena,
        bound,
        runtime_arena(path, "default"),
        runtime_arena(path, "lean"),
        before,
        work_of(module),
    )


def work_of(module: ModuleOp) -> Work:
    """The instructions of a module and the bytes of their buffers, loops unrolled."""
    kernels = moved = 0
    function = main_function(module)
    for op in function.walk():
        if isinstance(op, instr.InstructionOp):
            turns = turns_of(op, function)
            kernels += turns
            moved += turns * sum(
                byte_size(value)
                for value in op.operands
                if isinstance(value.type, MemRefType)
            )
    return Work(kernels, moved)


def turns_of(op: Operation, function: func.FuncOp) -> int:
    """How often an instruction runs."""
    turns, parent = 1, op.parent_op()
    while parent is not None and parent is not function:
        if isinstance(parent, scf.ForOp):
            bounds = map(constant, (parent.lb, parent.ub, parent.step))
            turns *= len(range(*bounds))
        parent = parent.parent_op()
    return turns


def constant(value: SSAValue) -> int:
    """The number that an index is."""
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        return owner.value.value.data
    raise ValueError("loop bounds must be constants")


def runtime_arena(path: Path, mode: str) -> int | None:
    """The bytes that ONNX Runtime's arena has after three runs; None without it."""
    command = [sys.executable, "-c", RUNTIME, str(path), mode]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = re.findall(r"Total allocated bytes: (\d+)", done.stderr)
    weights = re.findall(
        r"Reserving memory in BFCArena for Cpu size: (\d+)", done.stderr
    )
    if not found or done.returncode != 0:
        return None
    return int(found[-1]) - sum(map(int, weights))


def lines(rows: Sequence[Row]) -> Iterator[str]:
    """The table as Markdown."""
    yield (
        "| network | arena | bound | ratio | ONNX Runtime | growing as asked | "
        "kernels before → after | MB moved before → after |"
    )
    yield "|---|---:|---:|---:|---:|---:|---:|---:|"
    for row in rows:
        yield (
            f"| {row.name} | {mega(row.arena)} | {mega(row.bound)} "
            f"| {row.arena / max(row.bound, 1):.3f} | {mega(row.runtime)} "
            f"| {mega(row.lean_runtime)} | {row.before.kernels} → {row.after.kernels} "
            f"| {mega(row.before.bytes)} → {mega(row.after.bytes)} |"
        )


def mega(size: int | None) -> str:
    """Megabytes (of a million)."""
    return "–" if size is None else f"{size / 1e6:.2f}"


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure the memory of networks.")
    parser.add_argument("models", type=Path, nargs="+", help="ONNX files")
    arguments = parser.parse_args()
    for line in lines([measure(path) for path in arguments.models]):
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(run_reporting("memory", main, debug=False))
