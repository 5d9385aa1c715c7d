"""Imports a whole model, or one program of it after the other."""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Generator

from xdsl.dialects.builtin import ModuleOp

from glow.dialects.errors import GlowError
from glow.frontends.notes import ImportNotes
from glow.frontends.onnx.external_files import external_digests
from glow.frontends.onnx.loader import LoadedModel, load_model
from glow.frontends.onnx.messages import ModelProto
from glow.frontends.onnx.programs.program_importer import ProgramImporter
from glow.frontends.onnx.programs.starts import (
    Start,
    Step,
)
from glow.open_sizes import InputShapes, InputValues
from glow.specialization.program_ends import Answers, ProgramEnds


def import_model(
    model: str | os.PathLike[str] | bytes | ModelProto | LoadedModel,
    *,
    input_shapes: InputShapes | None = None,
    input_values: InputValues | None = None,
    notes: ImportNotes | None = None,
    training: bool = False,
) -> ModuleOp:
    """The module of an ONNX model: `func.func @main` and the weight table.

    `input_shapes` gives the shapes of inputs by name, for those that the model leaves
    open, or open sizes by their names. `input_values` fixes inputs for good, which removes
    them from the function: a shape or an axis that is an input must be known here. Where
    there are `notes`, they take what would be a warning. For `training`, dropout stays, and
    batch normalization is that of the moving averages: the pass `training-mode` says what
    they do then. Raises OpenModelError for a size or a value that is needed and not known,
    else GlowError, whose one line names the ONNX node where there is one.
    """
    given, fixed = input_shapes or {}, input_values or {}
    with _importer(model, notes, training) as importer:
        root = importer.root(given, fixed)
        step = importer.walk(root)
        if step.module is not None and not step.asks:
            return step.module
        raise importer.open_error(step)


def import_step(
    model: str | os.PathLike[str] | bytes | ModelProto | LoadedModel,
    answers: Answers,
    *,
    input_shapes: InputShapes,
    input_values: InputValues,
    notes: ImportNotes | None = None,
    ends: ProgramEnds | None = None,
) -> Step:
    """The next program of a model whose sizes are all known, and what it waits for then.

    `answers` are the values, by name, that each step before has asked for, in order: none
    for the first. `ends` are those of this model with these `input_values`, and get more.
    Raises GlowError as `import_model` does.
    """
    ends = ProgramEnds() if ends is None else ends
    with _importer(model, notes) as importer:
        start = importer.root(input_shapes, input_values)
        for depth, values in enumerate(answers):
            end = importer.end_of(start, input_shapes, answers[:depth], ends)
            start = end.with_values(values)
        step = importer.walk(start)
        if step.next is not None:
            ends.keep(input_shapes, answers, step.next)
        return step


def end_of_programs(
    model: str | os.PathLike[str] | bytes | ModelProto | LoadedModel,
    answers: Answers,
    *,
    input_shapes: InputShapes,
    input_values: InputValues,
    ends: ProgramEnds,
) -> Start:
    """Where the program ends that has asked for the last answers."""
    end = ends.find(input_shapes, answers[:-1])
    if end is None:  # A program of the cache of models.
        with _importer(model, ImportNotes()) as importer:
            start = importer.root(input_shapes, input_values)
            for depth, values in enumerate(answers):
                end = importer.end_of(start, input_shapes, answers[:depth], ends)
                start = end.with_values(values)
    assert end is not None
    return end


@contextlib.contextmanager
def _importer(
    model: str | os.PathLike[str] | bytes | ModelProto | LoadedModel,
    notes: ImportNotes | None,
    training: bool = False,
) -> Generator[ProgramImporter]:
    """An importer, whose errors name the file, and whose warnings go to the notes."""
    loaded = load_model(model)
    if notes is not None:
        notes.files.update(external_digests(loaded))
    importer = ProgramImporter(loaded, training)
    try:
        yield importer
    except GlowError as error:
        if error.location is None and isinstance(model, str | os.PathLike):
            error.location = os.fspath(model)
        raise
    if notes is not None:
        notes.warnings.extend(importer.warnings)
        return
    for message in importer.warnings:
        warnings.warn(message, stacklevel=4)
