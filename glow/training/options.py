"""What a user asks of a training step, checked where it comes in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

from glow.dialects.errors import GlowError
from glow.options import CompileOptions, OptionKeywords


@dataclass(frozen=True)
class StepOptions:
    """How a network is trained, beside its loss and optimizer."""

    output: str | None = None
    """The output that the loss is of, where there are several."""
    freeze: Sequence[str] = ()
    """Patterns (`encoder.*`) of names of parameters that stay as they are."""
    initialize: str = "keep"
    """`keep` the weights of the model, or draw them: `xavier`, `kaiming`."""
    seed: int = 0
    """Of random weights and of dropout."""
    batch_size: int | None = None
    """The first size of all inputs, where the model has 1 or leaves it open."""
    clip_value: float | None = None
    """The largest size of an element of a gradient."""
    clip_norm: float | None = None
    """The largest norm of all gradients together."""
    accumulate: int = 1
    """How many calls make a step, by the mean of their gradients."""
    check_finite: bool = False
    """Stop at the first step whose loss or new state is not finite, with its first node that
    is not; costs a copy of the state a step."""


class StepKeywords(OptionKeywords, total=False):
    """The fields of `StepOptions` and `CompileOptions` as keyword arguments."""

    output: str | None
    freeze: Sequence[str]
    initialize: str
    seed: int
    batch_size: int | None
    clip_value: float | None
    clip_norm: float | None
    accumulate: int
    check_finite: bool


def split_options(options: StepKeywords) -> tuple[StepOptions, CompileOptions]:
    """The options of the step and those of its compilation; raises GlowError."""
    names = {field.name for field in fields(StepOptions)}
    own = {name: value for name, value in options.items() if name in names}
    others = {name: value for name, value in options.items() if name not in names}
    known = {field.name for field in fields(CompileOptions)}
    for name in others:
        if name not in known:
            raise GlowError(f"a training has no option '{name}'")
    check(own, quantize=others.get("quantize"))
    return StepOptions(**own), CompileOptions(**others)  # pyright: ignore[reportArgumentType]


def check(own: Mapping[str, object], quantize: object) -> None:
    """Raise GlowError for values that make no sense."""
    if quantize:
        raise GlowError(
            "a training step is not quantized",
            hint="prepare the network for quantization-aware training instead",
        )
    if isinstance(own.get("freeze"), str):
        raise GlowError("freeze is a list of patterns, not a text")
    size = own.get("batch_size")
    if size is not None and (not isinstance(size, int) or size < 1):
        raise GlowError(f"batch_size must be a whole number, 1 or more, not {size!r}")
