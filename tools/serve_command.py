"""`glow serve`: serves models by the Open Inference Protocol until a signal."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from socket import socket
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from glow.diagnostics import run_reporting
from glow.dialects.errors import GlowError, UsageError
from glow.runtime.atomic_output import check_output_file
from glow.runtime.caches.model_cache import MAP_VARIABLE
from glow.tools.compile_options import (
    add_compile_options,
    compile_options,
    model_file,
)
from glow.tools.quantization_commands import at_least, not_negative

if TYPE_CHECKING:
    from glow.host.adding import AddKeywords
    from glow.serving.workers import Worker

MIB = 1 << 20

EXTRA = ("fastapi", "httptools", "prometheus_client", "uvicorn")
"""What the services are made of."""


def add_serve_command(parser: argparse.ArgumentParser) -> None:
    """Declare `glow serve`."""
    add = parser.add_argument
    add(
        "models",
        type=model_file,
        nargs="*",
        help=".onnx or .mlir files, served by their names",
    )
    add(
        "--model-repository",
        type=Path,
        metavar="FOLDER",
        help="models in folders NAME/VERSION/, which may come and go",
    )
    add("--host", default="127.0.0.1", help="the address to listen on (127.0.0.1)")
    add("--port", type=at_least(0), default=8000, help="of HTTP (8000); 0 for any")
    add("--grpc-port", type=at_least(0), help="of gRPC too; 0 for any (none)")
    add(
        "--processes",
        type=at_least(1),
        default=1,
        help="that share ports and models, each with cores of its own (1)",
    )
    add(
        "--device",
        action="append",
        metavar="NAME",
        help="cpu, cpu:2GiB, process*2, ...",
    )
    add("--queue", type=at_least(1), default=1000, help="requests that may wait (1000)")
    add("--requests", type=at_least(1), default=512, help="requests at a time (512)")
    add("--body-mib", type=at_least(1), default=256, help="the largest body (256)")
    add("--drain-seconds", type=not_negative, default=30.0, help="at the end (30)")
    add("--batching", choices=("auto", "off"), default="auto", help="(auto)")
    add(
        "--trace",
        type=Path,
        metavar="FILE.json",
        help="write a trace, with kernels, at the end",
    )
    add("--threads", type=at_least(1), help="of a request that is alone (all cores)")
    add_compile_options(parser)
    parser.set_defaults(work=serve_command)


def raise_file_limit() -> None:
    """Let this process, and those that it starts, have as many connections as it may."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def serve_command(args: argparse.Namespace) -> None:
    """Serve until a signal."""
    if not args.models and args.model_repository is None:
        raise UsageError("no models to serve", hint="name files, or --model-repository")
    for path in args.models:
        if not path.is_file():
            raise GlowError(f"{path}: no such file")
    check_extra([] if args.grpc_port is None else ["grpc"])
    if args.trace is not None:
        check_output_file(args.trace)
    from glow.serving.server import listen

    raise_file_limit()
    with listen(args.host, args.port) as listening:
        if args.processes == 1:
            serve_here(args, listening)
        else:
            serve_in_workers(args, listening)


def serve_in_workers(args: argparse.Namespace, listening: socket) -> None:
    """Serve in several processes until a signal."""
    if args.trace is not None:
        raise UsageError("--trace is for one process", hint="--processes 1")
    from glow.serving.server import listen
    from glow.serving.workers import Supervisor, Worker, share_cores

    address, port = listening.getsockname()[:2]
    said = f"http://{address}:{port}"
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="glow-serve-")))
        grpc_port = None
        if args.grpc_port is not None:  # Reserved, so that 0 is the same for all.
            reserved = listen(args.host, args.grpc_port, is_shared=True)
            grpc_port = stack.enter_context(reserved).getsockname()[1]
            said += f" and grpc://{address}:{grpc_port}"
        workers = [
            Worker(index, cores, listening, grpc_port, folder)
            for index, cores in enumerate(share_cores(args.processes))
        ]
        Supervisor(workers, partial(work, args)).run(lambda: _say(said))


def work(args: argparse.Namespace, worker: Worker, on_ready: Callable[[], None]) -> int:
    """Serve as one of several processes; the exit status."""
    os.environ.setdefault(MAP_VARIABLE, "1")

    def serve_as_worker() -> None:
        serve_here(args, worker.listening, worker, lambda _: on_ready())

    return run_reporting("glow serve", serve_as_worker, debug=False)


def serve_here(
    args: argparse.Namespace,
    listening: socket,
    worker: Worker | None = None,
    said: Callable[[str], None] | None = None,
) -> None:
    """Serve in this process until a signal."""
    from glow.host.host import Host
    from glow.host.tracing import Tracer
    from glow.serving.body import Limits
    from glow.serving.folders import models_in, named_models
    from glow.serving.repository import Repository
    from glow.serving.server import ServerOptions, serve
    from glow.serving.shared_metrics import SharedMetrics

    files = named_models(args.models)
    if args.model_repository is not None:
        files |= models_in(args.model_repository)
    trace: Path | None = args.trace
    tracer = Tracer(kernels=True) if trace else None
    options = ServerOptions(
        args.host,
        args.port,
        args.grpc_port if worker is None else worker.grpc_port,
        args.drain_seconds,
        worker is not None,
        Limits(body_bytes=args.body_mib * MIB, requests=args.requests),
    )
    with Host(args.device or ["cpu"], args.queue, tracer) as host:
        repository = Repository(host, files, add_options(args))
        repository.folder = args.model_repository
        for name in files:
            repository.load_now(name)
        metrics = None
        if worker is not None:
            metrics = SharedMetrics(host, worker.folder, worker.index)
        serve(repository, options, said or _say, listening, metrics)
        if isinstance(metrics, SharedMetrics):
            metrics.close()
    if tracer and trace:
        tracer.write(trace)


def _say(address: str) -> None:
    print(f"ready on {address}", flush=True)


def check_extra(more: Sequence[str] = ()) -> None:
    """Raise GlowError where what services are made of is not installed."""
    missing = [name for name in (*EXTRA, *more) if find_spec(name) is None]
    if missing:
        raise GlowError(
            f"glow serve needs {', '.join(missing)}",
            hint="pip install 'glow-xdsl[serve]'",
        )


def add_options(args: argparse.Namespace) -> AddKeywords:
    """The options of `Host.add` that a command line gives."""
    options = compile_options(args)
    found: AddKeywords = {
        "target": options.target,
        "threads": options.threads,
        "numerics": options.numerics,
        "quantize": options.quantize,
        "precision": options.precision,
        "weight_growth": options.weight_growth,
        "batching": args.batching,
    }
    if options.buckets:
        found["buckets"] = options.buckets
    if options.input_shapes:
        found["input_shapes"] = options.input_shapes
    if options.input_values:
        found["input_values"] = options.input_values
    return found
