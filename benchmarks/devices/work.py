"""How much of networks' work has kernels for many threads on NVIDIA's GPUs, and how much slices.

python -m benchmarks.devices.work                       the twelve networks
python -m benchmarks.devices.work resnet50 --precision bf16 --verbose
python -m benchmarks.devices.work bert_base_u8s8        one that ONNX Runtime quantizes

Neither a GPU nor `ptxas` is needed. A line a network: of its instructions, of the bytes that they
read and write, and of their multiply-adds, how many run as kernels for many threads. Below it are
the kinds of the others, which run as slices, a thread an item; with `--verbose` the shapes and the
reasons, too.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import cast

sys.path.insert(0, str(Path(__file__).parents[2]))

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from benchmarks.networks import NETWORKS, QUANTIZED_NETWORKS, WIDER_NETWORKS
from glow.backends.cpu import dialect as cpu
from glow.backends.cpu.program.program import Repetition
from glow.backends.cpu.selection.convolution import group_size
from glow.backends.cuda.kernels.contraction_spec import Precision
from glow.backends.cuda.selection import key_of, threads_of
from glow.backends.cuda.selection.choice import Calls, Choice
from glow.compiler import load, lower
from glow.dialects import glow, instr
from glow.dialects.node import element_of, shape_of
from glow.dialects.weight_table import dtype_of
from glow.lowering.target.gpu_machine import GPU_MACHINES
from glow.options import CompileOptions
from glow.signature import main_function

Count = Callable[[instr.InstructionOp], int]


def _results(op: instr.InstructionOp) -> int:
    return prod(shape_of(op.outs[0]))


def _taps(op: instr.InstructionOp) -> int:
    return _results(op) * prod(op.attributes_view().ints("kernel"))


def _blocked(op: instr.InstructionOp) -> int:
    attributes = op.attributes_view()
    return _taps(op) * attributes.int("input_channels") // attributes.int("group")


def _grouped(op: instr.InstructionOp) -> int:
    return _taps(op) * group_size(op.ins[1])


def _plain(op: instr.InstructionOp) -> int:
    return _results(op) * prod(shape_of(op.ins[1])[1:])


def _matmul(op: instr.InstructionOp) -> int:
    return _results(op) * shape_of(op.ins[0])[-1]


def _batched(op: instr.InstructionOp) -> int:
    depth = op.attributes_view().ints("lhs_axes")[-1]
    return _results(op) * shape_of(op.ins[0])[depth]


def _attention(op: instr.InstructionOp) -> int:
    attributes = op.attributes_view()
    shapes = [
        [shape_of(value)[axis] for axis in attributes.ints(f"{name}_axes")]
        for name, value in zip(("query", "key", "value"), op.ins, strict=False)
    ]
    (*batch, rows, depth), (*_, keys), (*_, columns) = shapes
    return prod(batch) * rows * keys * (depth + columns)


def _recurrence(op: instr.InstructionOp) -> int:
    """The product with the state of each step, whose weights are the second operand."""
    return shape_of(op.ins[0])[0] * prod(shape_of(op.ins[1]))


MULTIPLY_ADDS: Mapping[type[Operation], Count] = {
    cpu.AttentionOp: _attention,
    cpu.BatchMatmulOp: _batched,
    cpu.Conv2dOp: _blocked,
    cpu.DepthwiseConv2dOp: _grouped,
    cpu.GroupedConv2dOp: _grouped,
    cpu.Int8BatchMatmulOp: _batched,
    cpu.Int8Conv2dOp: _blocked,
    cpu.Int8MatmulOp: _matmul,
    cpu.MatmulOp: _matmul,
    cpu.PlainConv2dOp: _plain,
    cpu.RecurrenceOp: _recurrence,
}
"""Those of an instruction; others have none."""

LOOKUPS = (glow.GatherOp, glow.GatherElementsOp, glow.GatherNDOp)
"""Nodes that read as much of their first operand as they write."""


def size_of(value: SSAValue) -> int:
    """The bytes of a buffer."""
    return prod(shape_of(value)) * dtype_of(element_of(value)).itemsize


def bytes_of(op: instr.InstructionOp) -> int:
    """The bytes that an instruction reads and writes."""
    inputs, written = list(op.ins), [*op.outs]
    if key_of(type(op)) in LOOKUPS:
        inputs[0] = op.outs[0]
    if isinstance(op, instr.InsertOp):  # It writes what it reads, into a larger buffer.
        written = inputs
    return sum(map(size_of, [*inputs, *written]))


@dataclass
class Work:
    """Instructions, the bytes that they read and write, and their multiply-adds."""

    instructions: int = 0
    bytes: int = 0
    multiply_adds: int = 0

    def add(self, op: instr.InstructionOp) -> None:
        """Count an instruction."""
        count = MULTIPLY_ADDS.get(key_of(type(op)))
        self.instructions += 1
        self.bytes += bytes_of(op)
        self.multiply_adds += 0 if count is None else count(op)

    def __str__(self) -> str:
        return (
            f"{self.instructions:4}  {self.bytes / 1e6:8.1f} MB  "
            f"{self.multiply_adds / 1e6:9.1f} M"
        )


def module_of(name: str, options: CompileOptions) -> ModuleOp:
    """A network as instructions."""
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / f"{name}.onnx"
        network = {**NETWORKS, **WIDER_NETWORKS, **QUANTIZED_NETWORKS}[name]()
        model.write_bytes(network.SerializeToString())
        return cast("ModuleOp", lower(load(model), "instr", options))


def labels(calls: Calls) -> Iterator[str]:
    """The names of kernels, those of steps once."""
    for call in calls:
        if isinstance(call, Repetition):
            yield from labels(call.body)
        else:
            yield call.kernel.label


def kind_of(op: instr.InstructionOp, choice: Choice, verbose: bool) -> tuple[bool, str]:
    """Whether an instruction has a kernel for many threads, and which; else what it is."""
    found = threads_of(op, choice)
    if not isinstance(found, str):
        return True, " and ".join(dict.fromkeys(labels(found)))
    name = op.name.removeprefix("instr.")
    if verbose:
        shapes = ", ".join(str(list(shape_of(v))) for v in (*op.outs, *op.ins))
        name += f" {shapes}: {found}"
    return False, name


def work_of(
    module: ModuleOp, choice: Choice, verbose: bool = False
) -> Mapping[tuple[bool, str], Work]:
    """The work of a network by kernel: whether it is for many threads, and its kind."""
    found: dict[tuple[bool, str], Work] = {}
    for op in main_function(module).walk():
        if isinstance(op, instr.InstructionOp):
            found.setdefault(kind_of(op, choice, verbose), Work()).add(op)
    return found


def total(kinds: Mapping[tuple[bool, str], Work], has_threads: bool) -> Work:
    """The work of all kernels of one sort."""
    chosen = [work for (threads, _), work in kinds.items() if threads is has_threads]
    return Work(
        sum(work.instructions for work in chosen),
        sum(work.bytes for work in chosen),
        sum(work.multiply_adds for work in chosen),
    )


def main() -> None:
    """Count and print."""
    parser = argparse.ArgumentParser(description="Count work by kernel.")
    parser.add_argument("names", nargs="*", metavar="NETWORK", help="twelve without")
    parser.add_argument("--gpu", default="sm_90", choices=GPU_MACHINES)
    parser.add_argument("--precision", default="f32", choices=("f32", "bf16", "fp16"))
    parser.add_argument("--numerics", default="default")
    parser.add_argument("-v", "--verbose", action="store_true", help="shapes, reasons")
    arguments = parser.parse_args()
    options = CompileOptions(
        "cuda",
        arguments.gpu,
        numerics=arguments.numerics,
        precision=arguments.precision,
    )
    numerics = cast("Precision", arguments.numerics)
    choice = Choice(GPU_MACHINES[arguments.gpu], numerics)
    for name in arguments.names or NETWORKS:
        kinds = work_of(module_of(name, options), choice, arguments.verbose)
        print(f"{name:16} threads {total(kinds, True)}   slices {total(kinds, False)}")
        for (has_threads, kind), work in sorted(
            kinds.items(), key=lambda item: (not item[0][0], -item[1].bytes)
        ):
            if arguments.verbose or not has_threads:
                sort = "threads" if has_threads else "slices "
                print(f"    {sort} {work}  {kind}", flush=True)


if __name__ == "__main__":
    main()
