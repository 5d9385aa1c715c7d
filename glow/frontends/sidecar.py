"""The `.safetensors` file beside an `.mlir` file, which holds the weights.

`net.mlir` has its weights in `net.mlir.safetensors`: the whole name with one more suffix, so
that no two programs share a file and nobody else's `net.safetensors` is touched. The module
names the file and the digest of what was written:

    glow.weights = #glow.weights<"net.mlir.safetensors", "d09f5a1be4a0c6d2">

Without a digest any file that has the weights will do, as for programs written by hand. A
module that names no file takes the one of its own name, or `net.safetensors`, where there is
one; else its weights are missing only for a pass that reads a value. IREE's tools write archives of
parameters instead, `net.irpa` or `net_params.irpa`, which are read as well.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from glow.dialects.errors import GlowError
from glow.dialects.locations import node_name, place_of
from glow.frontends.notes import ImportNotes
from glow.runtime.file_blocks import digest_or_missing

SUFFIX = ".safetensors"
ARCHIVE_SUFFIX = ".irpa"
"""Of IREE."""


def sidecar_of(path: Path) -> Path:
    """The file beside `path` that its weights are written to."""
    return path.with_name(path.name + SUFFIX)


def attach_sidecar(
    module: ModuleOp, path: Path, notes: ImportNotes | None = None
) -> None:
    """Load the weights of the module read from `path` into its weight table.

    Before it is read, the notes take its hash, if there are any. Raises GlowError for a
    file that is missing, damaged or another than the one written with the program, and at
    the operation for a weight that it lacks or that has another shape or dtype.
    """
    sidecar = find_sidecar(module, path)
    if sidecar is None:
        return
    from glow.dialects.weight_file import WeightFile, check_regular, read_weight_file
    from glow.dialects.weights import references, used_weights, weights_of
    from glow.frontends.parameter_archive import read_archive

    check_regular(sidecar)
    if notes is not None:
        for file in (sidecar, sidecar_of(path)):  # Which comes first once it exists.
            notes.files[file.name] = digest_or_missing(file)
    if sidecar.suffix == ARCHIVE_SUFFIX:
        types = {name: op.results[0].type for op, name in references(module)}
        found = WeightFile(read_archive(sidecar, types), None)
    else:
        found = read_weight_file(sidecar, used_weights(module))
    table = weights_of(module)
    if table.digest is not None and table.digest != found.digest:
        raise GlowError(
            f"the weight file '{sidecar}' is not the one that was written with {path}",
            hint="compile the program again, or leave out the digest in #glow.weights to "
            "take this file",
        )
    table.update(found.arrays)
    table.file = table.digest = table.folder = None
    check_weights(module)


def find_sidecar(module: ModuleOp, path: Path) -> Path | None:
    """The weight file of the module read from `path`, if it needs one or has one."""
    if "glow.weights" in module.attributes:
        from glow.dialects.weights import used_weights, weights_of

        table = weights_of(module)
        if table.file is not None and Path(table.file).name != table.file:
            raise GlowError(
                f"the weight file '{table.file}' lies outside the folder of {path}"
            )
        if table.file is not None:
            return path.parent / table.file
        if used_weights(module) <= set(table):
            return None
    candidates = (
        sidecar_of(path),
        path.with_suffix(SUFFIX),
        path.with_name(path.name + ARCHIVE_SUFFIX),
        path.with_suffix(ARCHIVE_SUFFIX),
        path.with_name(f"{path.stem}_params{ARCHIVE_SUFFIX}"),
    )
    return next((file for file in candidates if file.exists()), None)


def check_weights(module: ModuleOp) -> None:
    """Raise GlowError at the first operation whose weight has another shape or dtype.

    Weights of types of storage get their dtype here.
    """
    from glow.dialects.weights import as_held, check_held, references, weights_of

    table = weights_of(module)
    for op, name in references(module):
        try:
            entry = table.entry(name)
            if isinstance(entry, np.ndarray):
                table[name] = as_held(entry, op.results[0].type)
            check_held(name, table.entry(name), op.results[0].type)
        except GlowError as error:
            raise GlowError(
                error.message, node=node_name(op), location=place_of(op)
            ) from None


def has_weights(module: ModuleOp) -> bool:
    """Whether the module refers to entries of its weight table."""
    if "glow.weights" not in module.attributes:
        return False
    from glow.dialects.weights import used_weights

    return bool(used_weights(module))


def check_replaceable(sidecar: Path) -> None:
    """Raise GlowError where writing weights would replace a file of somebody else."""
    from glow.dialects.weight_file import is_marked

    if sidecar.exists() and not is_marked(sidecar):
        raise GlowError(
            f"{sidecar} is not a weight file that glow wrote, and is not replaced",
            hint="move it away, or write the program under another name",
        )


def save_sidecar(module: ModuleOp, path: Path, name: str) -> None:
    """Write the module's weights to `path`; the module is printed with file `name`."""
    from glow.dialects.weight_file import write_weight_file
    from glow.dialects.weights import used_weights, weights_of

    table = weights_of(module)
    used = {weight: table[weight] for weight in sorted(used_weights(module))}
    table.digest = write_weight_file(used, path)
    table.file = name
