"""Recurrent layers: one kernel, called step by step.

The hidden state of a step is a row of the sequence, which the next step reads: no thread
overwrites what another one still needs, so that one barrier a step is enough. The first step
reads the initial states; the other states are updated in place from then on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from xdsl.ir import Operation, SSAValue

from glow.backends.cpu import dialect as cpu
from glow.backends.cpu.dialect.config import RecurrenceConfig
from glow.backends.cpu.dialect.config_attributes import config_of
from glow.backends.cpu.kernels.recurrence.kernel import RecurrenceSpec, build_recurrence
from glow.backends.cpu.kernels.recurrence.weights import StepShape
from glow.backends.cpu.program.program import (
    Invocation,
    KernelRequest,
    KernelSelector,
    Repetition,
    Row,
)
from glow.backends.cpu.selection.common import checked
from glow.dialects import instr
from glow.dialects.node import element_of, shape_of
from glow.lowering.loop_builder.scalar_region import ScalarRegion
from glow.lowering.target.target import Target


def _spec(op: instr.InstructionOp, target: Target) -> RecurrenceSpec:
    entering, weights, hidden, *others = op.ins
    rows, units = shape_of(hidden)
    gates = op.attributes_view().int("gates")
    widens = element_of(weights) != element_of(entering)
    is_state = tuple(len(shape_of(other)) == 2 for other in others)
    cell = ScalarRegion(op.regions[0].block)
    config = config_of(op.attributes_view(), RecurrenceConfig)
    shape = StepShape(rows, units, gates, widens, config)
    checked(op, shape, StepShape.wrong_config, target)
    return RecurrenceSpec(shape, cell, is_state)


class Steps:
    """The calls of one instruction by the number of their step.

    `others`: which of its further operands are states; `request`: the kernel of a step, of which
    every other one is alike if `alternates`, else all are.
    """

    def __init__(
        self,
        op: instr.InstructionOp,
        others: Sequence[bool],
        request: Callable[[int], KernelRequest],
        alternates: bool = False,
    ) -> None:
        self.op, self.others = op, others
        self.request, self.alternates = request, alternates
        self.count = shape_of(op.ins[0])[0]
        self.forward = not op.attributes_view().has("reverse")

    def row(self, buffer: SSAValue, step: int, move: int) -> Row:
        """What a step has in a buffer; each turn goes on by `move` steps."""
        if self.forward:
            return Row(buffer, step, move)
        return Row(buffer, self.count - 1 - step, -move)

    def call(self, step: int, move: int = 0) -> Invocation:
        """The step's kernel, on rows that each trip moves by `move` steps."""
        entering, weights, hidden, *others = self.op.ins
        sequence, *lasts = self.op.outs
        written = [self.row(sequence, step, move), *lasts]
        state = hidden if step == 0 else self.row(sequence, step - 1, move)
        if step > 0:
            updated = iter(lasts)
            others = [
                next(updated) if is_state else other
                for other, is_state in zip(others, self.others, strict=True)
            ]
        read = [self.row(entering, step, move), state, weights, *others]
        return Invocation(self.request(step), [*written, *read], len(written))

    def calls(self) -> Sequence[Invocation | Repetition]:
        """The first step, equal trips of one step or two, and a last step that is left."""
        width = 2 if self.alternates else 1
        trips, left = divmod(self.count - 1, width)
        body = [self.call(1 + number, width) for number in range(width)]
        calls: list[Invocation | Repetition] = [self.call(0)]
        if trips:
            calls.append(Repetition(trips, body))
        if left:
            calls.append(self.call(self.count - 1))
        return calls


def _recurrence(
    op: instr.InstructionOp, target: Target
) -> Sequence[Invocation | Repetition]:
    """Odd steps read the weights from their end where that pays."""
    spec = _spec(op, target)
    alternates = spec.shape.alternates(target)

    def request(step: int) -> KernelRequest:
        turned = replace(spec, backward=alternates and step % 2 == 1)
        return KernelRequest(
            "recurrence",
            ("recurrence", turned),
            lambda name, target: build_recurrence(turned, target, name),
        )

    return Steps(op, spec.others, request, alternates).calls()


SELECTORS: Mapping[type[Operation], KernelSelector] = {cpu.RecurrenceOp: _recurrence}
