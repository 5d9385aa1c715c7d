"""`glow profile`: runs a model on calibration data and writes the ranges of its values."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from glow.dialects.errors import GlowError
from glow.frontends.mapped_file import files_held
from glow.options import CompileOptions
from glow.runtime.atomic_output import atomic_path, check_output_file
from glow.tools.programs import check_program, read_program
from glow.tools.progress import report, show_progress
from glow.tools.run_command import read_array

Array = npt.NDArray[np.generic]
Arrays = dict[str, Array]


@files_held()
def profile_model(
    model: Path,
    data: Path,
    batches: int | None,
    output: Path,
    options: CompileOptions,
    *,
    merge: bool,
) -> None:
    """Profile `model` on `data` and write the profile to `output`."""
    import glow
    from glow.compiler import load
    from glow.passes.quantization.profiling.profile_file import profile_text
    from glow.signature import main_function, signature_of

    check_program(model)
    check_output_file(output)
    module = read_program(model, options)
    names = [info.name for info in signature_of(main_function(module)).inputs]
    shapes = [info.shape for info in signature_of(main_function(module)).inputs]
    samples = islice(read_batches(data, names, shapes), batches)
    profile = glow.profile(load(module), samples, progress=bar(batches))
    if merge and output.exists():
        earlier = glow.Profile.load(output)
        earlier.merge(profile)
        profile = earlier
    with atomic_path(output) as temporary:
        temporary.write_text(profile_text(profile), encoding="utf-8")
    report(f"{output}: {len(profile.values)} values, {profile.batches} batches")


def bar(total: int | None) -> Callable[[int], None]:
    """A function that shows how many batches are done, on a terminal only."""

    def show(done: int) -> None:
        if sys.stderr.isatty():
            show_progress("profiling", done, total)

    return show


def read_batches(
    data: Path, names: Sequence[str], shapes: Sequence[Sequence[int]]
) -> Iterator[Arrays]:
    """The batches of an `.npz` file or of a folder of `.npy` and `.npz` files.

    An `.npz` file has an array for each input: one batch, or one more axis of batches.
    In a folder every `.npz` file is that, and every `.npy` file a value of the only
    input, in the order of their names.
    """
    if not data.exists():
        raise GlowError(f"{data}: no such file or folder")
    files = sorted(data.iterdir()) if data.is_dir() else [data]
    used = [file for file in files if file.suffix in (".npy", ".npz")]
    if not used:
        raise GlowError(
            f"the data set {data} is empty: it needs .npz files, or .npy files for a "
            "model with one input"
        )
    for file in used:
        arrays = read_npz(file, names) if file.suffix == ".npz" else None
        if arrays is None:
            if len(names) != 1:
                raise GlowError(f"{file}: the model has {len(names)} inputs; use .npz")
            arrays = {names[0]: read_array(file)}
        yield from split_batches(file, arrays, dict(zip(names, shapes, strict=True)))


def read_npz(file: Path, names: Sequence[str]) -> Arrays:
    """The arrays of the inputs in an `.npz` file; a single one may have any name."""
    try:
        with np.load(file, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except (OSError, ValueError, EOFError, BadZipFile) as error:
        raise GlowError(f"{file} is not an .npz file of numbers") from error
    if len(names) == 1 and len(arrays) == 1:
        return {names[0]: next(iter(arrays.values()))}
    missing = [name for name in names if name not in arrays]
    if missing:
        raise GlowError(
            f"{file} has no array '{missing[0]}' (it has {', '.join(arrays) or 'none'})"
        )
    return {name: arrays[name] for name in names}


def split_batches(
    file: Path, arrays: Arrays, shapes: dict[str, Sequence[int]]
) -> Iterator[Arrays]:
    """One batch, or the batches along an additional (or larger) first axis."""
    if all(array.shape == tuple(shapes[name]) for name, array in arrays.items()):
        yield arrays
        return
    parts = {
        name: batched(file, name, array, tuple(shapes[name]))
        for name, array in arrays.items()
    }
    counts = {len(part) for part in parts.values()}
    if len(counts) != 1:
        raise GlowError(f"{file}: the inputs have different numbers of batches")
    for index in range(counts.pop()):
        yield {name: part[index] for name, part in parts.items()}


def batched(file: Path, name: str, array: Array, shape: tuple[int, ...]) -> Array:
    """An array [batches, *shape]; samples along axis 0 are gathered into batches."""
    if array.shape[:1] == (0,):
        raise GlowError(f"the data set {file} is empty: array '{name}' has no batches")
    if array.shape[1:] == shape:
        return array
    samples = array.shape[1:] == shape[1:] and shape[0] > 0
    if samples and array.shape[0] >= shape[0]:
        count = array.shape[0] // shape[0]
        return array[: count * shape[0]].reshape(count, *shape)
    raise GlowError(
        f"{file}: array '{name}' has shape {list(array.shape)}, the model takes "
        f"{list(shape)}"
    )
