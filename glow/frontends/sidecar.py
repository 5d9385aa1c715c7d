"""The `.safetensors` file beside an `.mlir` file that holds the weights."""

from __future__ import annotations

from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

SUFFIX = ".safetensors"


def attach_sidecar(module: ModuleOp, path: Path) -> None:
    """Load the weights beside `path` into the module's weight table."""
    sidecar = path.with_suffix(SUFFIX)
    if sidecar.exists():
        from glow.dialects.weights import load_weights

        load_weights(module, sidecar)


def write_sidecar(module: ModuleOp, path: Path) -> None:
    """Write the module's weight table beside `path`, if it has any weights."""
    from glow.dialects.weights import save_weights, weights_of

    if weights_of(module):
        save_weights(module, path.with_suffix(SUFFIX))
