"""The steps of a program as data, which files keep and `device_steps.py` makes launches of.

    [["call", "relu_1f09", "node", [["mutables", 0, 256, []], ...]],
     ["for", 0, 0, 8, 1, null, [["call", ...]]]]

A step is its kind and its fields; a number that the step `load` reads is written `[number]`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from glow.backends.cpu.program.device_steps import CALL, Bound, Entry
from glow.backends.cpu.program.program import (
    Branch,
    BufferBinding,
    Guard,
    KernelCall,
    Load,
    Loaded,
    Loop,
    Step,
    While,
)


def entries_of(steps: Sequence[Step]) -> Sequence[Entry]:
    """Steps as data, in order."""
    return [ENTRIES[type(step)](step) for step in steps]


def _place(binding: BufferBinding) -> Entry:
    return [binding.space, binding.offset, binding.size, binding.dynamic_offset]


def _bound(bound: int | Loaded) -> Bound:
    return [bound.number] if isinstance(bound, Loaded) else bound


def _call(step: KernelCall) -> Entry:
    return [CALL, step.kernel.name, step.node, list(map(_place, step.bindings))]


def _load(step: Load) -> Entry:
    return ["load", step.number, _place(step.binding)]


def _loop(step: Loop) -> Entry:
    bounds = _bound(step.lower), _bound(step.upper)
    body = entries_of(step.body)
    return ["for", step.number, *bounds, step.step, step.within, body]


def _branch(step: Branch) -> Entry:
    parts = map(entries_of, (step.then, step.otherwise))
    return ["if", step.condition.number, *parts]


def _while(step: While) -> Entry:
    parts = map(entries_of, (step.before, step.body))
    return ["while", step.condition.number, *parts]


def _guard(step: Guard) -> Entry:
    return ["guard", _place(step.reports), entries_of(step.body)]


ENTRIES = cast(
    "Mapping[type[Step], Callable[[Any], Entry]]",
    {
        KernelCall: _call,
        Load: _load,
        Loop: _loop,
        Branch: _branch,
        While: _while,
        Guard: _guard,
    },
)
