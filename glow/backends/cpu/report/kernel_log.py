"""What each instruction of a planned function becomes: the log of the kernels.

    conv1: conv2d: direct sums; 28 pixels x 2 registers; rows; 56 work items; 37,632 bytes of
    weights; error 4e-06

Where inputs may not allow the algorithm, the line ends with what is computed then:

    fc1: strassen: one level of Strassen; ...; error 5e-06; falls back to direct sums of 2 rows
    that share sums with an infinity or NaN

`record-kernels` writes it beside each instruction:

    instr.cpu.conv2d ... {glow.kernels = [{algorithm = "direct sums", ...}]}
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr
from xdsl.passes import ModulePass

from glow.backends.cpu.program.kernel_table import KernelTable, kernel_table
from glow.backends.cpu.program.program import KernelCall, Step
from glow.backends.cpu.program.program_builder import ProgramBuilder
from glow.backends.cpu.report.choices import Choice, choice_of
from glow.dialects import instr
from glow.dialects.attributes import int_attr
from glow.dialects.node import node_name
from glow.lowering.target.program_target import settle_target
from glow.lowering.target.target import Target
from glow.passes.instr.accesses import functions_of
from glow.passes.instr.verify_instr import VerifyInstrPass

KERNELS = "glow.kernels"


class CallBuilder(ProgramBuilder):
    """Builds a program and keeps which instruction asked for which calls."""

    def __init__(
        self, function: func.FuncOp, target: Target, table: KernelTable
    ) -> None:
        super().__init__(function, target, table)
        self.calls_of: dict[instr.InstructionOp, list[KernelCall]] = {}

    def _instruction(self, op: instr.InstructionOp) -> Iterator[Step]:
        steps = list(super()._instruction(op))
        self.calls_of[op] = list(unrolled(steps))
        yield from steps


def unrolled(steps: Iterable[Step]) -> Iterator[KernelCall]:
    """The calls, those of loops as often as they run; once where that is not known."""
    for step in steps:
        if isinstance(step, KernelCall):
            yield step
            continue
        inner = [call for part in step.parts for call in unrolled(part)]
        yield from (1 if step.trip_count is None else step.trip_count) * inner


@dataclass(frozen=True)
class Entry:
    """One kernel of an instruction."""

    label: str
    choice: Choice
    work_items: int
    """What threads share, at most so many of them."""
    weight_bytes: int
    """Of the constants that it names, as they are packed."""

    def fields(self) -> dict[str, str]:
        """What was chosen, in words."""
        numbers = {
            "work_items": f"{self.work_items:,}",
            "weight_bytes": f"{self.weight_bytes:,}",
        }
        return {**self.choice.fields(), **numbers}

    def line(self, node: str | None) -> str:
        """The entry as a line of the log."""
        fields = self.choice.fields()
        error, fallback = fields.pop("error", None), fields.pop("fallback", None)
        parts = [*fields.values(), f"{self.work_items:,} work items"]
        if self.weight_bytes:
            parts.append(f"{self.weight_bytes:,} bytes of weights")
        if error is not None:
            parts.append(f"error {error}")
        if fallback is not None:
            parts.append(f"falls back to {fallback}")
        return f"{node or '-'}: {self.label}: {'; '.join(parts)}"

    def attribute(self) -> DictionaryAttr:
        """The entry as the IR has it."""
        texts = {name: StringAttr(text) for name, text in self.choice.fields().items()}
        numbers = {"work_items": self.work_items, "weight_bytes": self.weight_bytes}
        return DictionaryAttr(
            {
                "kernel": StringAttr(self.label),
                **texts,
                **{name: int_attr(number) for name, number in numbers.items()},
            }
        )


def kernel_log(
    function: func.FuncOp, target: Target, table: KernelTable
) -> Mapping[instr.InstructionOp, list[Entry]]:
    """The kernels of each instruction; those of a loop once."""
    builder = CallBuilder(function, target, table)
    builder.run()
    work_items: dict[str, int] = {}

    def entry(call: KernelCall) -> Entry:
        request = call.kernel
        if request.name not in work_items:
            work_items[request.name] = request.build(request.name, target).work_items
        choice = choice_of(request, target)
        return Entry(
            request.label, choice, work_items[request.name], weight_bytes(call)
        )

    return {
        op: [
            entry(call) for call in {call.kernel.name: call for call in calls}.values()
        ]
        for op, calls in builder.calls_of.items()
    }


def weight_bytes(call: KernelCall) -> int:
    """The bytes of the constants that a kernel names."""
    return sum(
        binding.size for binding in call.bindings if binding.space == "constants"
    )


def log_lines(
    function: func.FuncOp, target: Target, table: KernelTable
) -> Iterator[str]:
    """The log of a function, a line for each kernel of each instruction."""
    for op, entries in kernel_log(function, target, table).items():
        for entry in entries:
            yield entry.line(node_name(op))


@dataclass(frozen=True)
class RecordKernelsPass(ModulePass):
    """Write beside each instruction which kernels it becomes."""

    name = "record-kernels"
    target: str = "host"
    backend: str = "cpu"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Record the kernels of each function."""
        VerifyInstrPass().apply(ctx, op)
        target, table = settle_target(op, self.target), kernel_table(self.backend)
        for function in functions_of(op):
            for instruction, entries in kernel_log(function, target, table).items():
                attributes = [entry.attribute() for entry in entries]
                instruction.attributes[KERNELS] = ArrayAttr(attributes)
