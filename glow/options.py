"""What a user asks of a compilation: one object, made and checked where it comes in.

`glow.compile`, `lower_to` and the command line make a `CompileOptions` of their arguments.
Everything behind them takes that object, and may rely on it: the compiler, the cache of
models, a backend. Nothing of xDSL is imported, so that a known model starts without it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from operator import index
from typing import TYPE_CHECKING, Any, TypedDict, cast

from glow.backends.backend import DEFAULT_BACKEND
from glow.dialects.errors import GlowError
from glow.dialects.numerics import (
    WEIGHT_GROWTH,
    check_numerics,
    check_weight_growth,
)

if TYPE_CHECKING:
    from glow.passes.quantization.options import QuantizationOptions
    from glow.quantization import Quantization

HOST = "host"
"""The target that stands for this machine."""

PRECISIONS = ("f32", "bf16", "fp16")


@dataclass(frozen=True)
class CompileOptions:
    """What is compiled, for what, and how; raises GlowError for what is no such choice."""

    backend: str = DEFAULT_BACKEND
    """Who compiles and runs it."""
    target: str = HOST
    """The machine, by a name that the backend knows."""
    threads: int | None = None
    """Those of a call, by default one a core; results do not depend on it."""
    input_shapes: Mapping[str, Sequence[int]] | None = None
    """Shapes of inputs, by name, whose sizes the model leaves open."""
    numerics: str = "default"
    """`exact`, `default` or `fast`: how far results may be from direct sums."""
    quantize: Quantization = False
    """A profile (`glow.profile`), its file, or `True` to quantize without one."""
    quantization: QuantizationOptions | None = None
    """How it is quantized."""
    precision: str = "f32"
    """What products multiply: `f32`, `bf16` where that is faster, or `fp16`."""
    memory_limit: int | None = None
    """The most bytes that the values between nodes may take."""
    weight_growth: float = WEIGHT_GROWTH
    """Times the bytes of all weights, what weights that are transformed for an algorithm may
    take in addition (8 MB are always free)."""

    def __post_init__(self) -> None:
        _check_name("backend", self.backend)
        _check_name("target", self.target)
        _check_count("threads", self.threads)
        _check_shapes(self.input_shapes)
        _check_count("memory_limit", self.memory_limit, " (of bytes)")
        check_numerics(self.numerics)
        _check_precision(self.precision)
        _check_quantize(self.quantize)
        _check_quantization(self.quantization)
        growth = check_weight_growth(self.weight_growth)
        object.__setattr__(self, "weight_growth", growth)

    def that_change_code(self) -> dict[str, object]:
        """All but the number of threads, by name: equal ones give one program."""
        return {
            part.name: getattr(self, part.name)
            for part in fields(self)
            if part.name != "threads"
        }


class OptionKeywords(TypedDict, total=False):
    """The fields of `CompileOptions` as keyword arguments: `Unpack[OptionKeywords]`."""

    backend: str
    target: str
    threads: int | None
    input_shapes: Mapping[str, Sequence[int]] | None
    numerics: str
    quantize: Quantization
    quantization: QuantizationOptions | None
    precision: str
    memory_limit: int | None
    weight_growth: float


def _check_name(option: str, value: object) -> None:
    if not isinstance(value, str):
        raise GlowError(f"{option} must be a name, not {value!r}")


def _check_count(option: str, value: object, unit: str = "") -> None:
    if value is None:
        return
    try:
        is_count = index(cast(Any, value)) >= 1
    except TypeError:
        is_count = False
    if not is_count:
        raise GlowError(
            f"{option} must be a whole number{unit}, 1 or more, not {value!r}"
        )


def _check_shapes(value: object) -> None:
    if value is not None and not isinstance(value, Mapping):
        kind = type(value).__name__
        raise GlowError(f"input_shapes gives shapes by name, not {kind}")


def _check_precision(precision: str) -> None:
    if precision not in PRECISIONS:
        raise GlowError(
            f"unknown precision '{precision}'", hint=f"one of {', '.join(PRECISIONS)}"
        )


def _check_quantize(value: object) -> None:
    if isinstance(value, bool | str | os.PathLike):
        return
    from glow.passes.quantization.profiling.profile import Profile

    if not isinstance(value, Profile):
        kind = type(value).__name__
        raise GlowError(f"quantize is a profile, its file or True, not {kind}")


def _check_quantization(value: object) -> None:
    if value is None:
        return
    from glow.passes.quantization.options import QuantizationOptions

    if not isinstance(value, QuantizationOptions):
        kind = type(value).__name__
        raise GlowError(f"quantization is a QuantizationOptions, not {kind}")
