"""The `.safetensors` file beside an `.mlir` file, which holds the weights.

A module that carries `glow.weights = #glow.weights<"in.safetensors">` needs that file. A
module without it may refer to weights all the same: then only a pass that reads a value
fails. That keeps small hand-written programs free of a second file.
"""

from __future__ import annotations

from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from glow.dialects.errors import GlowError
from glow.frontends.notes import ImportNotes
from glow.runtime.file_blocks import file_digest

SUFFIX = ".safetensors"


def sidecar_of(path: Path) -> Path:
    """The file beside `path` that holds its weights."""
    return path.with_suffix(SUFFIX)


def attach_sidecar(
    module: ModuleOp, path: Path, notes: ImportNotes | None = None
) -> None:
    """Load the weights of the module read from `path` into its weight table.

    Their file's hash goes into the notes, if there are any, before it is read. Raises
    GlowError for a file that is missing, damaged or lacks a weight in use.
    """
    named = _named_file(module)
    sidecar = path.parent / named if named else sidecar_of(path)
    if named and Path(named).name != named:
        raise GlowError(f"the weight file '{named}' lies outside the folder of {path}")
    if named or sidecar.exists():
        from glow.dialects.weights import load_weights

        if notes is not None and sidecar.is_file():
            notes.files[sidecar.name] = file_digest(sidecar)
        load_weights(module, sidecar)


def has_weights(module: ModuleOp) -> bool:
    """Whether the module refers to entries of its weight table."""
    if "glow.weights" not in module.attributes:
        return False
    from glow.dialects.weights import used_weights

    return bool(used_weights(module))


def save_sidecar(module: ModuleOp, path: Path, name: str) -> None:
    """Write the module's weights to `path`; the module is printed with file `name`."""
    from glow.dialects.weights import save_weights, weights_of

    save_weights(module, path)
    weights_of(module).file = name


def _named_file(module: ModuleOp) -> str | None:
    """The weight file that the module's attribute names."""
    if "glow.weights" not in module.attributes:
        return None
    from glow.dialects.weights import weights_of

    return weights_of(module).file
