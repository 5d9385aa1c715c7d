"""`glow tune-quantization`: searches a quantization that is good enough for a task."""

from __future__ import annotations

import importlib
import math
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, SupportsFloat, cast
from zipfile import BadZipFile

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from glow.dialects.errors import GlowError
from glow.dialects.weight_table import Array
from glow.dialects.weights import clone_module
from glow.frontends.mapped_file import files_held
from glow.options import CompileOptions
from glow.passes.quantization.options import QuantizationOptions
from glow.runtime.atomic_output import atomic_path, check_output_file
from glow.tools.programs import read_program
from glow.tools.progress import report
from glow.tools.quantize_report_command import Batches, read_samples

if TYPE_CHECKING:
    from glow import CompiledModel
    from glow.quantization_tuning import Score

RANKED_BATCHES = 4
"""Batches that layers are ranked by."""
UNLIMITED = 1 << 30


@dataclass(frozen=True)
class Goal:
    """What a user calls good enough: exactly one of `target` and `drop`."""

    score: str | None
    """`module:function`; without it the accuracy on labelled data."""
    labels: str
    target: float | None
    drop: float
    trials: int


@files_held()
def tune_model(
    model: Path,
    profile: Path,
    data: Path | None,
    goal: Goal,
    options: QuantizationOptions,
    output: Path,
) -> None:
    """Search a profile for `model` that meets the goal and write it to `output`."""
    from glow.compiler import compile_module
    from glow.passes.quantization.profiling.profile import Profile
    from glow.passes.quantization.profiling.profile_file import profile_text
    from glow.quantization_tuning import Aim, tune_quantization

    check_output_file(output)
    module = read_program(model)
    known = Profile.load(profile)
    score = make_score(module, data, goal)
    exact = score(compile_module(clone_module(module), CompileOptions()))
    target = exact - goal.drop if goal.target is None else goal.target
    report(f"{exact:<10.6g} in float; the target is {target:.6g}")
    samples = read_samples(module, data, RANKED_BATCHES)
    aim = Aim(score, target, goal.trials)
    found, best = tune_quantization(module, known, aim, samples, options, progress=tell)
    with atomic_path(output) as temporary:
        temporary.write_text(profile_text(found), encoding="utf-8")
    print(f"{output}: {best:.6g}; in float: {', '.join(found.keep) or 'none'}")
    if best < target:
        raise GlowError(
            f"the target {target:.6g} is not met: {best:.6g} is the best found",
            hint="allow more --trials, or a lower target",
        )


def tell(what: str, score: float) -> None:
    """Say what was tried."""
    report(f"{score:<10.6g} {what}")


def make_score(module: ModuleOp, data: Path | None, goal: Goal) -> Score:
    """The user's function, or the accuracy on labelled data."""
    if goal.score is not None:
        return checked(goal.score, import_function(goal.score))
    if data is None:
        raise GlowError(
            "tuning needs a score", hint="give --data with labels, or --score"
        )
    labels = read_labels(data, goal.labels)
    batches = read_samples(module, data, UNLIMITED)
    return lambda model: accuracy(model, batches, labels)


def import_function(name: str) -> Callable[[CompiledModel], object]:
    """The function that `module:function` names; modules of the current folder count."""
    module_name, _, function_name = name.partition(":")
    if not module_name or not function_name:
        raise GlowError(f"--score needs module:function, not '{name}'")
    sys.path.insert(0, os.getcwd())
    try:
        found = getattr(importlib.import_module(module_name), function_name, None)
    except ImportError as error:
        raise GlowError(f"--score {name}: {error}") from error
    finally:
        sys.path.pop(0)
    if not callable(found):
        raise GlowError(f"--score: '{module_name}' has no function '{function_name}'")
    return cast("Callable[[CompiledModel], object]", found)


def checked(name: str, function: Callable[[CompiledModel], object]) -> Score:
    """The function, whose result must be a finite number."""

    def score(model: CompiledModel) -> float:
        try:
            found = function(model)
        except GlowError:
            raise
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            raise GlowError(f"--score {name} failed: {reason}") from error
        if not isinstance(found, SupportsFloat) or not math.isfinite(found):
            raise GlowError(f"--score {name} must give a finite number, not {found!r}")
        return float(found)

    return score


def read_labels(data: Path, name: str) -> Array:
    """The labels in an `.npz` file."""
    if data.suffix != ".npz" or not data.is_file():
        raise GlowError(f"{data}: labelled data must be an .npz file")
    try:
        with np.load(data, allow_pickle=False) as archive:
            if name not in archive.files:
                listed = ", ".join(archive.files) or "none"
                raise GlowError(
                    f"{data} has no array '{name}' of labels (it has {listed})"
                )
            return cast(Array, archive[name]).reshape(-1)
    except GlowError:
        raise
    except (OSError, ValueError, EOFError, BadZipFile) as error:
        raise GlowError(f"{data} is not an .npz file of numbers") from error


def accuracy(model: CompiledModel, batches: Batches, labels: Array) -> float:
    """The share of labels that the largest number of the first output's rows says."""
    name = model.outputs[0].name
    said: Sequence[Array] = [
        np.argmax(model.run(batch)[name], axis=-1).reshape(-1) for batch in batches
    ]
    guesses = np.concatenate(said)
    if guesses.shape != labels.shape:
        raise GlowError(f"{labels.size} labels for {guesses.size} results")
    return float((guesses == labels).mean())
