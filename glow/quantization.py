"""Quantization as users ask for it: a profile, its file, options, or just `True`."""

from __future__ import annotations

import os
import shlex
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import fields, replace
from difflib import get_close_matches
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from glow.dialects.errors import GlowError
from glow.interpreter.shared_work import shared_with
from glow.lowering.target.target import Target
from glow.options import HOST
from glow.passes.quantization.options import QuantizationOptions
from glow.passes.quantization.profiling.profile import Profile
from glow.passes.quantization.quantize import is_quantized_module, quantize_module
from glow.runtime.threads.cores import available_cores

Quantization = bool | Profile | str | os.PathLike[str]
"""A profile, its file, or `profile=FILE schema=symmetric ...` as `glow-opt --quantize`
takes it; `True` quantizes without a profile (dynamically, or by random inputs)."""

SWITCHES = {"true": True, "false": False}


def apply_quantization(
    module: ModuleOp,
    quantize: Quantization,
    options: QuantizationOptions | None = None,
    target: str = HOST,
) -> None:
    """Quantize a graph for a target; one that comes quantized runs in integers in any case."""
    if isinstance(quantize, str | os.PathLike):
        path, options = parse_quantization(os.fspath(quantize), options)
        quantize = True if path is None else Profile.load(path)
    options = for_target(options, target)
    profile = quantize if isinstance(quantize, Profile) else None
    if profile is not None:
        profile.check()
    if quantize is not False or is_quantized_module(module):
        with threads_sharing():
            quantize_module(module, profile, options)


@contextmanager
def threads_sharing() -> Generator[None]:
    """Let a second core, where there is one, take its share of layers and weights."""
    if available_cores() == 1:
        yield
        return
    with ThreadPoolExecutor(1, "glow-quantize") as pool, shared_with(pool):
        yield


def for_target(options: QuantizationOptions | None, target: str) -> QuantizationOptions:
    """The options with what the target decides: how it requantizes."""
    chosen = options or QuantizationOptions()
    if chosen.requantize != "auto":
        return chosen
    machine = Target.from_string(target)
    rounds = machine.round_instruction or machine.round_conversion
    return replace(chosen, requantize="float" if rounds else "fixed")


def parse_quantization(
    text: str, options: QuantizationOptions | None = None
) -> tuple[Path | None, QuantizationOptions]:
    """The profile and the options of `profile=p.yaml schema=symmetric keep=a,b`.

    Text without `=` is the profile's file. Raises GlowError for what is not known, or no
    option.
    """
    chosen = options or QuantizationOptions()
    if "=" not in text or Path(text).exists():
        return (Path(text) if text else None), chosen
    profile, choices = None, {}
    for word in _words(text):
        key, _, value = word.partition("=")
        if not value:
            raise GlowError(f"'{word}' is not KEY=VALUE")
        if key == "profile":
            profile = Path(value)
        else:
            name = key.replace("-", "_")
            choices[name] = _option(name, value, chosen)
    return profile, replace(chosen, **choices)


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise GlowError(f"--quantize={text}: {error}") from None


def _option(name: str, value: str, options: QuantizationOptions) -> object:
    """The value of an option as the type that it has."""
    known = [field.name for field in fields(options)]
    if name not in known:
        near = get_close_matches(name, known, 1)
        allowed = f"one of profile, {', '.join(known)}"
        hint = f"did you mean '{near[0]}'?" if near else allowed
        raise GlowError(f"unknown option '{name}' of --quantize", hint=hint)
    default: object = getattr(options, name)
    if isinstance(default, tuple):
        return tuple(value.split(","))
    if isinstance(default, bool):
        if value not in SWITCHES:
            raise GlowError(f"'{name}' is true or false, not '{value}'")
        return SWITCHES[value]
    return value
