"""`glow run`: compiles a model, runs it on files or random inputs, prints the times."""

from __future__ import annotations

import re
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

import numpy as np
import numpy.typing as npt

from glow.bucketing.named_sizes import without_names
from glow.diagnostics import did_you_mean
from glow.dialects.errors import GlowError, UsageError
from glow.open_sizes import OpenTensorInfo, filled_shapes, open_sizes_line
from glow.options import CompileOptions
from glow.runtime.atomic_output import (
    atomic_path,
    check_output_file,
    check_output_folder,
    make_output_folder,
)
from glow.specialized_model import RunnableModel, SpecializedModel
from glow.tools.programs import check_program
from glow.tools.progress import report, step

if TYPE_CHECKING:
    from glow import TensorInfo
    from glow.backends.inspection import ProfiledModel

Array = npt.NDArray[np.generic]


@dataclass(frozen=True)
class RunOptions:
    """The options of `glow run`."""

    inputs: Sequence[str]
    """`name=file.npy`, or `file.npy` where the model has one input."""
    output: Path | None
    repeat: int
    seed: int
    compilation: CompileOptions
    trace: Path | None = None
    """Where to write a Chrome trace; with one the times of kernels are printed."""


@dataclass(frozen=True)
class Times:
    """Seconds that compilation and each run took."""

    compilation: float
    runs: Sequence[float]

    def table(self) -> str:
        """The times as a small table."""
        runs = self.runs
        rows = [
            ("compile", f"{self.compilation:.3f} s"),
            ("first run", f"{1e3 * runs[0]:.3f} ms"),
            ("median", f"{1e3 * statistics.median(runs):.3f} ms"),
            ("minimum", f"{1e3 * min(runs):.3f} ms"),
        ]
        return "\n".join(f"{name:<10}{value:>14}" for name, value in rows)


def run_model(path: Path, options: RunOptions) -> None:
    """Compile and run the model at `path`; write and list its outputs."""
    if options.output is not None:
        check_output_folder(options.output)
    if options.trace is not None:
        check_output_file(options.trace)
        if options.compilation.buckets:
            raise UsageError("a profile is of one program: give --shape, not --buckets")
    given = split_inputs(options.inputs)
    arrays = {name: read_array(file) for name, file in given.items()}
    check_program(path)
    with step(f"compiling {path}") as compilation:
        chosen = with_sizes(path, options.compilation, arrays)
        traced = None if options.trace is None else trace_program(path, chosen)
        if traced is None:
            model, declared = sized_model(path, chosen)
        else:
            model, declared = traced.model, traced.model.inputs
    inputs = complete_inputs(declared, arrays, options.seed)
    outputs, seconds = timed_runs(model, inputs, options.repeat)
    if options.output is not None:
        write_outputs(outputs, options.output)
    print(list_outputs(outputs))
    print(Times(compilation.seconds, seconds).table())
    if traced is not None and options.trace is not None:
        report_kernels(traced, inputs, options.repeat, options.trace)


def with_sizes(
    path: Path, options: CompileOptions, arrays: dict[str, Array]
) -> CompileOptions:
    """The options with the sizes that given arrays have, where the model leaves any open.

    Arrays that decide shapes become fixed values, and are taken from the others. Raises
    GlowError, which names the input, where a size stays open.
    """
    model = compile_program(path, options)
    if not isinstance(model, SpecializedModel):
        return options
    names = [info.name for info in model.inputs]
    for name in list(arrays):
        arrays[_input_name(name, names)] = arrays.pop(name)
    shapes = {**(options.input_shapes or {})}
    values = {**(options.input_values or {})}
    for info in model.inputs:
        if info.is_specialized_on:
            if info.name not in arrays:
                raise GlowError(
                    f"the value of input '{info.name}' decides shapes",
                    hint=f"pass --value {info.name}=... or --input {info.name}=FILE.npy",
                )
            values[info.name] = arrays.pop(info.name)
        elif info.is_open and info.name in arrays:
            shapes[info.name] = arrays[info.name].shape
    return replace(options, input_shapes=shapes, input_values=values)


def sized_model(
    path: Path, options: CompileOptions
) -> tuple[RunnableModel, Sequence[TensorInfo | OpenTensorInfo]]:
    """The model for inputs of the sizes that the options have, and those inputs.

    Raises GlowError where a size stays open.
    """
    if not options.buckets:
        model = compile_program(path, options)
        check_closed(model)
        return model, model.inputs
    model = compile_program(path, options)
    assert isinstance(model, SpecializedModel)
    given = without_names(options.input_shapes or {})
    shapes = filled_shapes(model.inputs, given)
    model.warm([given])
    pairs = zip(model.inputs, shapes, strict=True)
    return model, [replace(info, shape=shape) for info, shape in pairs]


def check_closed(model: RunnableModel) -> None:
    """Raise GlowError for a model with a size that is still open."""
    if isinstance(model, SpecializedModel):
        for info in model.inputs:
            if info.is_open:
                message, hint = open_sizes_line([info])
                raise GlowError(message, hint=hint)


def compile_program(path: Path, options: CompileOptions) -> RunnableModel:
    """The compiled model of an `.onnx` or `.mlir` file, from the cache if it is known."""
    from glow.compilation import compile_known

    return compile_known(path, options)


def trace_program(path: Path, options: CompileOptions) -> ProfiledModel:
    """The same, with a look at the clock around each kernel."""
    from glow.backends.backend import get_backend

    return get_backend(options.backend).inspection().profiled(path, options)


def report_kernels(
    model: ProfiledModel, inputs: Mapping[str, Array], repeat: int, trace: Path
) -> None:
    """Print the table of kernels, and write the trace of the last run."""
    profile = model.profile(inputs, repeat)
    print(profile.table())
    with atomic_path(trace) as temporary:
        temporary.write_text(profile.chrome_trace(), encoding="utf-8")
    report(f"{trace}: open it with chrome://tracing or ui.perfetto.dev")


def split_inputs(arguments: Sequence[str]) -> dict[str, Path]:
    """Files by name; UsageError for an input that is given twice."""
    pairs = list(map(split_input, arguments))
    names = [name for name, _ in pairs]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise UsageError(f"--input {twice} is given twice")
    return dict(pairs)


def split_input(argument: str) -> tuple[str, Path]:
    """Name and file of `name=file.npy`; the name is empty for a bare file."""
    name, equals, file = argument.partition("=")
    return (name, Path(file)) if equals else ("", Path(name))


def read_array(path: Path) -> Array:
    """The array in an `.npy` file. Files with pickled objects are refused."""
    try:
        array = cast(object, np.load(path, allow_pickle=False))
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise GlowError(f"cannot read {path}: {reason}") from error
    except (ValueError, EOFError) as error:
        raise GlowError(f"{path} is not an .npy file of numbers") from error
    if not isinstance(array, np.ndarray):
        raise GlowError(f"{path} holds several arrays; give one .npy file per input")
    return cast(Array, array)


def complete_inputs(
    declared: Sequence[TensorInfo | OpenTensorInfo],
    given: Mapping[str, Array],
    seed: int,
) -> dict[str, Array]:
    """A value for each input: the given one, or random numbers, which it says."""
    names = [info.name for info in declared]
    given = {_input_name(name, names): array for name, array in given.items()}
    random = np.random.default_rng(seed)
    inputs: dict[str, Array] = {}
    for info in declared:
        if info.name in given:
            inputs[info.name] = _of_bytes(given[info.name], info.dtype)
        else:
            report(f"input '{info.name}': random values (seed {seed})")
            inputs[info.name] = random_array(random, info)
    return inputs


def _input_name(name: str, names: Sequence[str]) -> str:
    """The declared name that `name` means; an empty one is the only input."""
    if name == "" and len(names) == 1:
        return names[0]
    if name not in names:
        listed = ", ".join(names) or "none"
        what = f"input '{name}'" if name else "an input without a name"
        raise GlowError(
            f"the model has no {what}{did_you_mean(name, names)} (inputs: {listed})"
        )
    return name


def random_array(
    random: np.random.Generator, info: TensorInfo | OpenTensorInfo
) -> Array:
    """Standard normal numbers; zeros and ones for integers, which may be indices."""
    dtype, shape = np.dtype(info.dtype), cast(tuple[int, ...], info.shape)
    if dtype.kind in "biu":
        return random.integers(0, 2, shape).astype(dtype)
    return random.standard_normal(shape).astype(dtype)


def timed_runs(
    model: RunnableModel, inputs: Mapping[str, Array], repeat: int
) -> tuple[dict[str, Array], list[float]]:
    """The outputs by name, and the seconds of each of `repeat` runs."""
    seconds: list[float] = []
    outputs: dict[str, Array] = {}
    with step(f"running {repeat} times"):
        for _ in range(repeat):
            started = time.perf_counter()
            outputs = model.run(inputs)
            seconds.append(time.perf_counter() - started)
    return outputs, seconds


class PlainWriter:
    """A file that NumPy does not know as one: it loses errors when it writes to those."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def write(self, data: bytes) -> int:
        """Write bytes; raises OSError."""
        return self._file.write(data)


def write_outputs(outputs: Mapping[str, Array], folder: Path) -> None:
    """Write each output as `name.npy`, whole or not at all."""
    make_output_folder(folder)
    for (_, array), name in zip(outputs.items(), file_names(outputs), strict=True):
        with atomic_path(folder / f"{name}.npy") as temporary:
            with temporary.open("wb") as file:
                np.save(PlainWriter(file), _as_bytes(array))


def _as_bytes(array: Array) -> Array:
    """Elements that NumPy has no name for, such as bfloat16, as so many bytes each."""
    is_own = array.dtype.isbuiltin == 1
    return array if is_own else array.view(f"V{array.dtype.itemsize}")


def _of_bytes(array: Array, dtype: np.dtype[np.generic]) -> Array:
    """What `_as_bytes` wrote of elements of a type; another array as it is."""
    is_bytes = array.dtype.kind == "V" and array.dtype.itemsize == dtype.itemsize
    return array.view(dtype) if is_bytes and dtype.isbuiltin != 1 else array


def file_names(names: Mapping[str, Array]) -> Iterator[str]:
    """A distinct file name for each output; ONNX names may hold any character."""
    taken: set[str] = set()
    for name in names:
        base = re.sub(r"[^\w.-]", "_", name) or "output"
        candidate, number = base, 1
        while candidate in taken:
            candidate, number = f"{base}_{number}", number + 1
        taken.add(candidate)
        yield candidate


def list_outputs(outputs: Mapping[str, Array]) -> str:
    """A line for each output with its shape and dtype."""
    return "\n".join(
        f"output '{name}': {'x'.join(map(str, array.shape)) or 'scalar'} {array.dtype}"
        for name, array in outputs.items()
    )
