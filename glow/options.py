"""What a user asks of a compilation: one object, made and checked where it comes in.

`glow.compile`, `lower_to` and the command line make a `CompileOptions` of their arguments.
Everything behind them takes that object, and may rely on it: the compiler, the cache of
models, a backend. Nothing of xDSL is imported, so that a known model starts without it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from operator import index
from typing import TYPE_CHECKING, Any, TypedDict, cast

from glow.backends.backend import DEFAULT_BACKEND
from glow.dialects.errors import GlowError
from glow.dialects.numerics import (
    FREE_BYTES,
    WEIGHT_GROWTH,
    check_numerics,
    check_weight_growth,
)

if TYPE_CHECKING:
    from glow.open_sizes import Buckets, InputShapes, InputValues
    from glow.padded_sizes import PaddedSize, ShorterShapes
    from glow.passes.quantization.options import QuantizationOptions
    from glow.quantization import Quantization

SPECIALIZATIONS = 16

AUTO = "auto"
"""Stands for buckets that calls choose."""

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
    target_core: str | os.PathLike[str] | None = None
    """A file with figures of its core (`glow calibrate`), which stand before the table's."""
    device: str | None = None
    """On which device of the backend it runs, by name, number or words of its description; None
    for the first that can be used. Code alone is made without a device."""
    threads: int | None = None
    """Those of a call, by default one a core; results do not depend on it."""
    input_shapes: InputShapes | None = None
    """Shapes of inputs, by name, whose sizes the model leaves open; or those sizes by their
    own names."""
    input_values: InputValues | None = None
    """Values, by name, that inputs are fixed to: they are no inputs then."""
    specializations: int = SPECIALIZATIONS
    """How many programs are kept of a model with open sizes."""
    buckets: Buckets | str | None = None
    """Sizes, by the name of an open size, that programs are compiled for: smaller ones are
    padded; `auto` for the next of many sizes."""
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
    take in addition (64 MB are always free, 8 in bundles)."""

    shorter_shapes: ShorterShapes | None = None
    """The shapes of inputs with less of each size whose padding the program masks."""
    known_padding: Mapping[str, PaddedSize] | None = None
    """How sizes are padded to other buckets of the network, which is tried first."""
    fills_outputs: bool = False
    """Whether a call may write inputs into outputs itself, where they go nowhere else."""
    shares_constants: bool = False
    """Whether programs of the same weights, for other sizes, have them in common."""
    free_weight_bytes: int = FREE_BYTES
    """What weights that are transformed may take whatever `weight_growth` is."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "backend", backend_text(self.backend))
        _check_name("target", self.target)
        if self.device is not None:
            _check_name("device", self.device)
        object.__setattr__(self, "target", _with_core(self.target, self.target_core))
        _check_count("threads", self.threads)
        _check_names("input_shapes", "shapes", self.input_shapes)
        _check_names("input_values", "values", self.input_values)
        if self.input_values is not None:
            import numpy as np  # Which starting a tool should not wait for.

            values = {name: np.asarray(v) for name, v in self.input_values.items()}
            object.__setattr__(self, "input_values", values)
        if self.buckets is not None and self.buckets != AUTO:
            object.__setattr__(self, "buckets", _rising(self.buckets))
        _check_count("specializations", self.specializations)
        _check_count("memory_limit", self.memory_limit, " (of bytes)")
        check_numerics(self.numerics)
        _check_precision(self.precision)
        _check_quantize(self.quantize)
        _check_quantization(self.quantization)
        growth = check_weight_growth(self.weight_growth)
        object.__setattr__(self, "weight_growth", growth)

    def check_no_inputs(self) -> None:
        """Raise GlowError for sizes and values of a program, whose shapes are static."""
        for name in ("input_shapes", "input_values"):
            if getattr(self, name):
                raise GlowError(
                    f"{name} is for ONNX models; a program of MLIR has its shapes"
                )

    @property
    def fixed_buckets(self) -> Buckets | None:
        """The buckets, unless calls choose them."""
        return None if isinstance(self.buckets, str) else self.buckets

    def for_signature(self) -> CompileOptions:
        """The options that a model is imported by to see what it leaves open.

        With buckets, shapes are examples of what calls have.
        """
        return self if self.buckets is None else replace(self, input_shapes=None)

    def for_shapes(
        self, shapes: InputShapes, shorter: ShorterShapes | None = None
    ) -> CompileOptions:
        """The options of one of several programs, that for inputs of some shapes."""
        return replace(
            self,
            input_shapes=shapes,
            shorter_shapes=shorter,
            buckets=None,
            known_padding=None,
            shares_constants=True,
            fills_outputs=self.buckets is not None,
        )

    def for_open_sizes(self) -> CompileOptions:
        """The options of a model with open sizes; raises GlowError for integer inputs.

        It takes what its file says before any program of it is quantized.
        """
        text = self.quantize if isinstance(self.quantize, str) else ""
        chosen = getattr(self.quantization, "interface", "float")
        if chosen == "integer" or "interface=integer" in text.split():
            raise GlowError(
                "interface=integer needs inputs of known sizes",
                hint="give input_shapes",
            )
        return self

    def that_change_code(self) -> dict[str, object]:
        """All but counts of threads and specializations, and hints: equal ones give one program."""
        parts = {
            part.name: getattr(self, part.name)
            for part in fields(self)
            if part.name not in ("threads", "specializations", "known_padding")
        }
        file = self.target.partition("@")[2]
        return {**parts, "target_core": _content(file) if file else None}


class OptionKeywords(TypedDict, total=False):
    """The fields of `CompileOptions` as keyword arguments: `Unpack[OptionKeywords]`."""

    backend: str
    target: str
    target_core: str | os.PathLike[str] | None
    device: str | None
    threads: int | None
    input_shapes: InputShapes | None
    input_values: InputValues | None
    specializations: int
    buckets: Buckets | str | None
    numerics: str
    quantize: Quantization
    quantization: QuantizationOptions | None
    precision: str
    memory_limit: int | None
    weight_growth: float


def backend_text(backend: object) -> str:
    """The name of a backend, or those of several with commas; raises GlowError for others."""
    if isinstance(backend, list | tuple):
        names = cast("Sequence[object]", backend)
        return ",".join(backend_text(name) for name in names)
    _check_name("backend", backend)
    return cast(str, backend)


def _check_name(option: str, value: object) -> None:
    if not isinstance(value, str):
        raise GlowError(f"{option} must be a name, not {value!r}")


def _with_core(target: str, file: object) -> str:
    """The name of a target with a file of figures, which may be there already."""
    if file is None or "@" in target:
        return target
    if not isinstance(file, str | os.PathLike):
        raise GlowError(f"target_core is a file, not {type(file).__name__}")
    return f"{target}@{os.path.abspath(cast('str | os.PathLike[str]', file))}"


def _content(path: str) -> bytes:
    """What a file has; raises GlowError where it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise GlowError(f"{path}: {error.strerror}") from error


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


def _check_names(option: str, what: str, value: object) -> None:
    if value is not None and not isinstance(value, Mapping):
        kind = type(value).__name__
        raise GlowError(f"{option} gives {what} by name, not {kind}")


def _rising(buckets: object) -> dict[str, tuple[int, ...]]:
    """The sizes of buckets in order; raises GlowError for what is no size."""
    _check_names("buckets", "sizes", buckets)
    found: dict[str, tuple[int, ...]] = {}
    for name, sizes in cast("Mapping[str, Iterable[Any]]", buckets).items():
        try:
            found[name] = tuple(sorted({index(size) for size in sizes}))
        except TypeError:
            found[name] = ()
        if not found[name] or found[name][0] < 1:
            raise GlowError(
                f"buckets of '{name}' must be whole numbers, 1 or more, not {sizes!r}"
            )
    return found


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
