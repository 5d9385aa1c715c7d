"""Checks of arguments that callers without types may pass as anything."""

from __future__ import annotations

from operator import index
from typing import Any, cast

from glow.dialects.errors import GlowError


def check_counts(*, threads: object = None, memory_limit: object = None) -> None:
    """Raise GlowError for what is no number of threads, or of bytes; None is neither."""
    _check_count("threads", threads)
    _check_count("memory_limit", memory_limit, " (of bytes)")


def check_quantization(options: object) -> None:
    """Raise GlowError for what are no choices of a quantization; None is the defaults."""
    if options is None:
        return
    from glow.passes.quantization.options import QuantizationOptions

    if not isinstance(options, QuantizationOptions):
        kind = type(options).__name__
        raise GlowError(f"quantization is a QuantizationOptions, not {kind}")


def _check_count(name: str, value: object, unit: str = "") -> None:
    if value is None:
        return
    try:
        is_count = index(cast(Any, value)) >= 1
    except TypeError:
        is_count = False
    if not is_count:
        raise GlowError(
            f"{name} must be a whole number{unit}, 1 or more, not {value!r}"
        )
