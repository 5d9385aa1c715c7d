"""Models on disk: files that are named, or a folder of `NAME/VERSION/model.onnx`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from glow.dialects.errors import GlowError


@dataclass
class ModelFiles:
    """The files of a model by version."""

    versions: Mapping[str, Path]
    reasons: dict[str, str] = field(default_factory=dict[str, str])
    """Why a version could not be loaded."""


SUFFIXES = (".onnx", ".mlir")


def named_models(paths: Iterable[Path]) -> dict[str, ModelFiles]:
    """Models of one version, named as their files; GlowError for two of one name."""
    found: dict[str, ModelFiles] = {}
    for path in paths:
        if path.stem in found:
            raise GlowError(
                f"two models are named '{path.stem}'", hint="rename one of the files"
            )
        found[path.stem] = ModelFiles({"1": path})
    return found


def models_in(folder: Path) -> Mapping[str, ModelFiles]:
    """The models of a folder; versions are folders whose names are numbers."""
    found: dict[str, ModelFiles] = {}
    if not folder.is_dir():
        raise GlowError(f"{folder}: no folder of models")
    for model in sorted(one for one in folder.iterdir() if one.is_dir()):
        versions = {
            version.name: path
            for version in model.iterdir()
            if version.name.isdecimal() and (path := _model_file(version)) is not None
        }
        if versions:
            found[model.name] = ModelFiles(versions)
    return found


def _model_file(folder: Path) -> Path | None:
    """`model.onnx`, or the only file of a model that is there."""
    for suffix in SUFFIXES:
        path = folder / f"model{suffix}"
        if path.is_file():
            return path
    others = [p for p in sorted(folder.glob("*")) if p.suffix in SUFFIXES]
    return others[0] if len(others) == 1 else None
