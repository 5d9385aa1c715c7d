"""Profiles on disk: YAML that is readable, and of a subset that is read without a parser.

A document has a header and one block for each value; scalars and lists are JSON, which
YAML contains. Anything else is refused with its line.

    glow-profile: 1
    batches: 64
    values:
      "conv1":
        low: -2.5
        high: 3.25
        histogram: [0, 12, 7]
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import cast

import numpy as np

from glow.dialects.errors import GlowError
from glow.passes.quantization.profiling.schema import Schema
from glow.passes.quantization.profiling.value_profile import (
    BINS,
    ProfileData,
    ValueProfile,
)

VERSION = 1
CHANNELS = ("channel_low", "channel_high", "channel_mean")
SCALARS = ("low", "high")


def save_profile(profile: ProfileData, path: str | os.PathLike[str]) -> None:
    """Write a profile to a YAML file."""
    Path(path).write_text(profile_text(profile), encoding="utf-8")


def profile_text(profile: ProfileData) -> str:
    """A profile as YAML."""
    lines = [f"glow-profile: {VERSION}", f"batches: {profile.batches}"]
    if profile.keep:
        lines.append(f"keep: {json.dumps(profile.keep)}")
    lines.append("values:")
    for name, value in profile.values.items():
        lines.append(f"  {json.dumps(name)}:")
        for entry in fields(ValueProfile):
            content = getattr(value, entry.name)
            if content is not None:
                lines.append(f"    {entry.name}: {_spelled(content)}")
    return "\n".join(lines) + "\n"


def _spelled(content: object) -> str:
    if isinstance(content, np.ndarray):
        return json.dumps(content.tolist())
    return json.dumps(content)


def load_profile(path: str | os.PathLike[str]) -> ProfileData:
    """Read a profile; GlowError with file and line for anything unexpected."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise GlowError(f"cannot read the profile '{path}': {reason}") from None
    except UnicodeDecodeError:
        raise GlowError(f"the profile '{path}' is not text") from None
    return parse_profile(text, str(path))


def parse_profile(text: str, source: str) -> ProfileData:
    """The profile that a text spells."""
    profile, value, version = ProfileData(), None, 0
    for number, indent, key, content in _entries(text, source):
        try:
            if (indent, key) == (0, "glow-profile"):
                version = _count(key, content)
            elif indent == 0:
                _set_header(profile, key, content)
            elif indent == 2 and content is None:
                value = profile.values[key] = ValueProfile()
            elif indent == 4 and value is not None:
                _set_entry(value, key, content)
            else:
                raise ValueError(f"unexpected '{key}'")
        except (TypeError, ValueError, OverflowError) as error:
            raise _error(source, number, str(error)) from None
    if version != VERSION:
        raise GlowError(
            f"'{source}' is not a profile of version {VERSION}",
            hint="make one with glow profile",
        )
    for name, found in profile.values.items():
        if found.low > found.high:
            raise GlowError(f"'{source}': the value '{name}' has no range")
    return profile


def _set_header(profile: ProfileData, key: str, content: object) -> None:
    if key == "batches":
        profile.batches = _count(key, content)
    elif key == "keep":
        profile.keep = _names(content)
    elif (key, content) != ("values", None):
        raise ValueError(f"unexpected '{key}'")


def _count(key: str, content: object) -> int:
    if not isinstance(content, int) or isinstance(content, bool) or content < 0:
        raise ValueError(f"'{key}' must be a whole number")
    return content


def _names(content: object) -> tuple[str, ...]:
    names = cast(list[object], content) if isinstance(content, list) else [None]
    if not all(isinstance(name, str) for name in names):
        raise ValueError("'keep' must be a list of names")
    return tuple(map(str, names))


def _range(content: object) -> tuple[float, float]:
    numbers = np.array(content, np.float64)
    if (
        numbers.shape != (2,)
        or not np.isfinite(numbers).all()
        or numbers[0] > numbers[1]
    ):
        raise ValueError("'range' must be two finite numbers, the smaller one first")
    return float(numbers[0]), float(numbers[1])


def _error(source: str, number: int, message: str) -> GlowError:
    return GlowError(f"profile: {message}", location=f"{source}:{number}:1")


def _entries(text: str, source: str) -> Iterator[tuple[int, int, str, object]]:
    """Line number, indentation, key and value (None for a block) of each line."""
    for number, line in enumerate(text.splitlines(), 1):
        body = line.strip()
        if not body or body.startswith("#"):
            continue
        try:
            key, rest = _split_key(body)
        except ValueError:
            raise _error(source, number, "expected 'name: value'") from None
        try:
            content: object = json.loads(rest) if rest else None
        except ValueError:
            message = f"'{key}' must be numbers, names or a list of them, not '{rest}'"
            raise _error(source, number, message) from None
        yield number, len(line) - len(line.lstrip(" ")), key, content


def _split_key(body: str) -> tuple[str, str]:
    if body.startswith('"'):
        name, end = json.JSONDecoder().raw_decode(body)
        colon, rest = body[end : end + 1], body[end + 1 :]
    else:
        name, colon, rest = body.partition(":")
    if colon != ":":
        raise ValueError(body)
    return str(name), rest.strip()


def _set_entry(value: ValueProfile, key: str, content: object) -> None:
    if key in SCALARS:
        setattr(value, key, _number(key, content))
    elif key == "batches":
        value.batches = _count(key, content)
    elif key == "range":
        value.range = _range(content)
    elif key == "precision":
        value.precision = Schema(precision=str(content)).precision
    elif key == "histogram":
        counts = np.array(content, np.int64)
        if counts.shape != (BINS,) or counts.min() < 0:
            raise ValueError(f"a histogram needs {BINS} counts")
        value.histogram = counts
    elif key in CHANNELS:
        numbers = np.array(content, np.float64)
        if numbers.ndim != 1 or not np.isfinite(numbers).all():
            raise ValueError(f"'{key}' must be a list of finite numbers")
        setattr(value, key, numbers)
    else:
        raise ValueError(f"unknown entry '{key}'")


def _number(key: str, content: object) -> float:
    number = cast(float, content)
    if isinstance(content, bool) or not math.isfinite(number):
        raise ValueError(f"'{key}' must be a finite number")
    return number
