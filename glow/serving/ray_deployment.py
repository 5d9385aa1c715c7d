"""The HTTP service as a deployment of Ray Serve: replicas on a cluster, in one line.

    from ray import serve
    from glow.serving.ray_deployment import deployment

    serve.run(deployment("models/", num_replicas=3))

Each replica has a host and a repository of its own, and reads the models' files: they lie where
every node finds them. Ray balances requests between replicas and starts those that die again.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glow.dialects.errors import GlowError

if TYPE_CHECKING:
    from fastapi import FastAPI

    from glow.host.adding import AddKeywords

Models = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


def deployment(
    models: Models,
    *,
    devices: str | Iterable[str] = "cpu",
    add: AddKeywords | None = None,
    **options: object,
) -> object:
    """An application for `serve.run`.

    `models` is a folder of `NAME/VERSION/model.onnx`, or files of models. `devices` are those
    of each replica's host, `add` the options of `Host.add`, all others those of Ray Serve:
    `num_replicas`, `ray_actor_options`, `autoscaling_config`... Raises GlowError where Ray
    Serve is not installed, or a file is not there.
    """
    paths = _paths(models)
    texts = devices if isinstance(devices, str) else tuple(devices)
    keywords: AddKeywords = add or {}
    try:
        serve: Any = import_module("ray.serve")
    except ImportError as error:
        raise GlowError(
            "a deployment needs Ray Serve",
            hint="pip install 'glow-xdsl[serve]' 'ray[serve]'",
        ) from error

    def build() -> FastAPI:
        from glow.serving.ray_deployment import build_app

        return build_app(paths, texts, keywords)

    settings: Mapping[str, object] = {"name": "glow", **options}
    return serve.deployment(serve.ingress(build)()).options(**settings).bind()


def build_app(
    paths: tuple[str, ...], devices: str | tuple[str, ...], add: AddKeywords
) -> FastAPI:
    """The service of one replica, with all models loaded; raises GlowError."""
    from glow.host.host import Host
    from glow.serving.app import make_app
    from glow.serving.folders import models_in, named_models
    from glow.serving.metrics import ServerMetrics
    from glow.serving.repository import Repository
    from glow.serving.service import Service

    files = [Path(path) for path in paths]
    is_folder = len(files) == 1 and files[0].is_dir()
    found = models_in(files[0]) if is_folder else named_models(files)
    host = Host(devices)
    try:
        repository = Repository(host, found, add)
        if is_folder:
            repository.folder = files[0]
        for name in found:
            repository.load_now(name)
        return make_app(Service(repository, metrics=ServerMetrics(host)))
    except BaseException:
        host.close()
        raise


def _paths(models: Models) -> tuple[str, ...]:
    """The absolute paths; raises GlowError for one that is not there."""
    listed = [models] if isinstance(models, str | os.PathLike) else list(models)
    for path in listed:
        if not Path(path).exists():
            raise GlowError(f"{os.fspath(path)}: no such file or folder")
    return tuple(str(Path(path).resolve()) for path in listed)
