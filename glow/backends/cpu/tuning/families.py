"""The families of kernels that can be configured, and what stands for one of their kernels.

Specifications are known by the name of their class here, and cost models are loaded when they are
asked: a small network has few families.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, cast

from glow.backends.cpu.dialect.config import (
    AttentionConfig,
    BatchMatmulConfig,
    ConvConfig,
    DepthwiseConfig,
    MatmulConfig,
    PlainConvConfig,
    RecurrenceConfig,
    StrassenConfig,
    WinogradConfig,
)
from glow.backends.cpu.tuning.algorithms import AlgorithmSpec, LevelConfig
from glow.lowering.target.target import Target

if TYPE_CHECKING:
    from glow.tuning.records import Fields


def _by_method(spec: Any, target: Target) -> object:
    return spec.choose_config(target)


def _conv2d(spec: Any, target: Target) -> object:
    from glow.backends.cpu.kernels.convolution.conv2d_config import choose_conv_config

    return choose_conv_config(spec, target)


def _int8_conv2d(spec: Any, target: Target) -> object:
    from glow.backends.cpu.kernels.convolution import matrix_conv_plan

    return matrix_conv_plan.choose_int8_conv_config(spec, target)


def _plain(spec: Any, target: Target) -> object:
    from glow.backends.cpu.kernels.convolution.direct_conv import choose_plain_config

    return choose_plain_config(spec, target)


def _planes(spec: Any, target: Target) -> object:
    # With pairs of bytes, tiles are a twentieth faster.
    is_plain = target.prefers_small_loops and target.byte_dot == "none"
    small_loops = target.for_size or is_plain
    return spec.choose_config(target.core, small_loops=small_loops)


def _winograd(spec: Any, target: Target) -> object:
    from glow.backends.cpu.kernels.winograd.tiling import choose_winograd_tiling

    return choose_winograd_tiling(spec, target).config


def _int8_winograd(spec: Any, target: Target) -> object:
    from glow.backends.cpu.kernels.int8_winograd.spec import int8_winograd_tiling

    return int8_winograd_tiling(spec, target).config


def _algorithm(spec: Any, target: Target) -> object:
    return LevelConfig(spec.level)


@dataclass(frozen=True)
class Family:
    """A kind of kernel that can be configured."""

    config: type
    model: Callable[[Any, Target], object]
    """The best configuration by the cost model."""


FAMILIES: Mapping[str, Family] = {
    "Conv2dSpec": Family(ConvConfig, _conv2d),
    "SparseConv2dSpec": Family(ConvConfig, _conv2d),
    "Int8Conv2dSpec": Family(ConvConfig, _int8_conv2d),
    "DirectConvSpec": Family(PlainConvConfig, _plain),
    "BlockedPlanes": Family(DepthwiseConfig, _planes),
    "WinogradSpec": Family(WinogradConfig, _winograd),
    "MatmulSpec": Family(MatmulConfig, _by_method),
    "BatchMatmulSpec": Family(BatchMatmulConfig, _by_method),
    "Int8BatchMatmulSpec": Family(MatmulConfig, _by_method),
    "BlockQuantizedSpec": Family(MatmulConfig, _by_method),
    "AttentionSpec": Family(AttentionConfig, _by_method),
    "StrassenSpec": Family(StrassenConfig, _by_method),
    "StepShape": Family(RecurrenceConfig, _by_method),
    "AlgorithmSpec": Family(LevelConfig, _algorithm),
    "Int8WinogradSpec": Family(WinogradConfig, _int8_winograd),
}
"""By the name of a specification's class, which is not imported for it."""

IRRELEVANT = {
    "config", "epilogue", "has_bias", "a_row_stride", "c_row_stride", "signed_input",
    "zero_point", "borders", "pool", "has_zero_taps",
}  # fmt: skip
"""Fields of specifications that make no difference to what is best."""


def spec_text(spec: Any) -> str:
    """What a specification says of the kernel that its configuration depends on."""
    usual = {
        part.name: part.default
        for part in fields(spec)
        if part.name in IRRELEVANT and part.default is not MISSING
    }
    return repr(replace(spec, **usual))


def config_from(kind: type, given: Fields) -> object | None:
    """The configuration with fields from JSON; None where they are not its own."""
    known = {part.name: part for part in fields(kind)}
    if not given.keys() <= known.keys():
        return None
    values = {name: _value(known[name], value) for name, value in given.items()}
    lacking = [
        part
        for name, part in known.items()
        if part.default is MISSING and name not in values
    ]
    if lacking or None in values.values():
        return None
    return kind(**values)


def _value(part: Field[Any], value: object) -> object | None:
    """A field's value from JSON; None for one of another type. Numbers are positive."""
    match str(part.type), value:
        case "bool", bool():
            return value
        case "str", str():
            return value
        case "int", int() if not isinstance(value, bool):
            return value if value >= 1 or value == part.default else None
        case "Count", int() if not isinstance(value, bool):
            return value if value >= 0 else None
        case "tuple[int, ...]", list() | tuple():
            numbers = tuple(cast("Sequence[object]", value))
            return numbers if all(type(n) is int and n > 0 for n in numbers) else None
        case _:
            return None


def wrong_config(spec: Any, config: object, target: Target) -> str | None:
    """What the target or the shapes do not allow of a configuration, if so."""
    if isinstance(spec, AlgorithmSpec):
        level = cast("LevelConfig", config).level
        return None if level in (spec.level, spec.other) else f"level {level}"
    from glow.backends.cpu.tuning.limits import wrong

    return wrong(replace(spec, config=config), target)
