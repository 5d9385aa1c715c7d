"""What a server of the inference protocol costs and carries, beside ONNX Runtime and MLServer.

    python -m benchmarks.serving [--quick] [--json FILE] [table ...] [--networks resnet50,...]

`load`: requests a second whose 99th percentile is within a limit, under Poisson arrivals; the
limit is the same for all servers of a network. ONNX Runtime is behind the same HTTP service,
on the better of a thread a request and all cores a request; MLServer runs ONNX Runtime in a
process a core, and is asked over gRPC, its faster protocol, as our server is beside it.
`batching`: our server with batches and without, requests a second under saturation and mean
latencies at parts of it, where `off again` says what the same server's second turn came to.
`overhead`: microseconds of a request for one Relu, one client, by protocol.
`memory`: MiB of 1, 2 and 4 workers together (the proportional set sizes of /proc).
`shapes`: the latency of a known shape at 100 requests a second, alone and while other shapes
are asked for the first time.

The client shares the cores with the server. Servers take turns; compare within a row.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
import onnx
from onnx import ModelProto, helper

from benchmarks import batching
from benchmarks.micro.call_overhead import network as one_operator
from benchmarks.networks import NETWORKS
from benchmarks.record import commit, machine
from benchmarks.servers.load import (
    GrpcClient,
    HttpClient,
    Load,
    closed_loop,
    grpc_request,
    http_request,
    open_loop,
    rate_within,
)
from benchmarks.servers.peers import (
    MODEL,
    ROOT,
    Ports,
    echo_server,
    glow_server,
    mlserver,
    onnxruntime_server,
)

CORES = len(os.sched_getaffinity(0))
DIGITS = ROOT / "examples" / "digits" / "mlp.onnx"
REQUESTS = 150
"""Of which a mean latency is one, at least."""
SLOWER = 6
"""The limit of the 99th percentile: so many times the latency of the slowest when alone."""

SERVED: dict[str, Callable[[], ModelProto]] = {
    "digits_mlp": lambda: onnx.load(DIGITS),
    **{
        f"minilm{words}": lambda w=words: batching.minilm(w)
        for words in (16, 32, 64, 128)
    },
    "resnet50": NETWORKS["resnet50"],
}

Row = dict[str, str | float]


@dataclass(frozen=True)
class Setting:
    """How long is measured, and where files are."""

    folder: Path
    seconds: float
    steps: int
    rounds: int
    networks: Sequence[str]

    def save(self, model: ModelProto) -> Path:
        """The file of a network, under the name that all servers know it by."""
        path = self.folder / f"{MODEL}.onnx"
        onnx.save(model, path)
        return path


def example(model: ModelProto) -> dict[str, np.ndarray]:
    """Inputs of one request."""
    random, found = np.random.default_rng(0), {}
    weights = {tensor.name for tensor in model.graph.initializer}
    for value in model.graph.input:
        kind = value.type.tensor_type
        shape = [size.dim_value or 1 for size in kind.shape.dim]
        dtype = helper.tensor_dtype_to_np_dtype(kind.elem_type)
        if value.name not in weights:
            is_whole = np.issubdtype(dtype, np.integer)
            data = random.integers(0, 2, shape) if is_whole else random.random(shape)
            found[value.name] = data.astype(dtype)
    return found


# Load


def load(setting: Setting) -> Iterator[Row]:
    """Requests a second within a limit of the 99th percentile."""
    for name in setting.networks:
        model = SERVED[name]()
        path, inputs = setting.save(model), example(model)
        yield asyncio.run(load_row(setting, name, path, inputs))


async def load_row(
    setting: Setting, name: str, path: Path, inputs: dict[str, np.ndarray]
) -> Row:
    """One network's servers, one after the other, so that none has a core of another."""
    http = http_request(MODEL, inputs, binary=True)
    rpc = grpc_request(MODEL, inputs)
    servers: dict[str, tuple[AbstractContextManager[Ports], str]] = {
        "glow http": (glow_server(path), "http"),
        "glow grpc": (glow_server(path), "grpc"),
        "ort 1": (onnxruntime_server(path, 1, CORES), "http"),
        "ort all": (onnxruntime_server(path, CORES, 1), "http"),
        "mlserver grpc": (mlserver(path, setting.folder / name, CORES), "grpc"),
    }
    clients: dict[str, HttpClient | GrpcClient] = {}
    with ExitStack() as stack:
        for server, (context, protocol) in servers.items():
            ports = stack.enter_context(context)
            is_http = protocol == "http"
            clients[server] = (
                HttpClient(ports.http, http) if is_http else GrpcClient(ports.grpc, rpc)
            )
        alone = {s: await warm(client) for s, client in clients.items()}
        limit = SLOWER * max(alone.values())
        row: Row = {"network": name, "limit ms": limit}
        for server, client in clients.items():
            most = await closed_loop(client.send, 4 * CORES, setting.seconds)
            bounds = (0.3 * most.rate, 1.1 * most.rate)
            row[server] = await rate_within(
                client.send, limit, bounds, setting.steps, setting.seconds
            )
            await client.close()
    row["to ort"] = ratio(row["glow http"], max(row["ort 1"], row["ort all"]))
    row["to mlserver"] = ratio(row["glow grpc"], row["mlserver grpc"])
    return row


async def warm(client: HttpClient | GrpcClient) -> float:
    """The median latency of one client, in milliseconds."""
    await closed_loop(client.send, 2 * CORES, 0.5)
    return (await closed_loop(client.send, 1, 0.5)).percentile(50)


def ratio(ours: float, theirs: float) -> float:
    """How many times as much."""
    return ours / theirs if theirs else float("nan")


# Batching


def batches(setting: Setting) -> Iterator[Row]:
    """Batching on beside off."""
    for name in setting.networks:
        model = batching.open_batch(SERVED[name]())
        path, inputs = setting.save(model), example(model)
        with ExitStack() as stack:
            ports = {
                way: stack.enter_context(glow_server(path, "--batching", way))
                for way in ("off", "auto")
            }
            yield from asyncio.run(batch_rows(setting, name, ports, inputs))


async def batch_rows(
    setting: Setting, name: str, ports: dict[str, Ports], inputs: dict[str, np.ndarray]
) -> list[Row]:
    """Saturation, then parts of what is carried without batches."""
    text = http_request(MODEL, inputs, binary=True)
    clients = {way: HttpClient(port.http, text) for way, port in ports.items()}
    for client in clients.values():
        await warm(client)
    full: dict[str, list[float]] = {way: [] for way in clients}
    for _ in range(setting.rounds):
        for way, client in clients.items():
            found = await closed_loop(client.send, 32, setting.seconds)
            full[way].append(found.rate)
    off, auto = median(full["off"]), median(full["auto"])
    x = {"off": off, "auto": auto, "x": auto / off}
    x["off again"] = max(full["off"]) / min(full["off"])
    rows: list[Row] = [{"network": name, "load": "full", **x}]
    for share in (0.3, 0.6, 0.8):
        rate = share * off
        seconds = max(setting.seconds, REQUESTS / rate)
        times: dict[str, list[float]] = {way: [] for way in ("off", "auto", "again")}
        for turn in range(setting.rounds):
            for way, found in times.items():
                client = clients["auto" if way == "auto" else "off"]
                found.append((await open_loop(client.send, rate, seconds, turn)).mean)
        rows.append(latency_row(name, f"{share:.0%}, ms", times))
    for client in clients.values():
        await client.close()
    return rows


def latency_row(name: str, load: str, times: dict[str, list[float]]) -> Row:
    """Latencies; a ratio above 1 says that batches are faster, the other how sure that is."""
    off, auto, again = (median(times[way]) for way in ("off", "auto", "again"))
    x = {"off": off, "auto": auto, "x": off / auto, "off again": off / again}
    return {"network": name, "load": load, **x}


# Overhead


def overhead(setting: Setting) -> Iterator[Row]:
    """Microseconds of a request that computes next to nothing."""
    model = one_operator()
    path, inputs = setting.save(model), example(model)
    yield from asyncio.run(overhead_rows(setting, path, inputs))


async def overhead_rows(
    setting: Setting, path: Path, inputs: dict[str, np.ndarray]
) -> list[Row]:
    """One client; the servers take turns."""
    binary = http_request(MODEL, inputs, binary=True)
    text = http_request(MODEL, inputs, binary=False)
    with ExitStack() as stack:
        ours = stack.enter_context(glow_server(path, "--threads", "1"))
        theirs = stack.enter_context(onnxruntime_server(path, 1, 1))
        echo = stack.enter_context(echo_server())
        clients: dict[str, HttpClient | GrpcClient] = {
            "glow, HTTP, binary": HttpClient(ours.http, binary),
            "ort, HTTP, binary": HttpClient(theirs.http, binary),
            "glow, HTTP, JSON": HttpClient(ours.http, text),
            "ort, HTTP, JSON": HttpClient(theirs.http, text),
            "glow, gRPC": GrpcClient(ours.grpc, grpc_request(MODEL, inputs)),
            "echo, gRPC": GrpcClient(echo, grpc_request(MODEL, inputs)),
        }
        turns: dict[str, list[Load]] = {name: [] for name in clients}
        for _ in range(3 * setting.rounds):
            for name, client in clients.items():
                found = await closed_loop(client.send, 1, setting.seconds / 3)
                turns[name].append(found)
        for client in clients.values():
            await client.close()
    return [
        {
            "way": name,
            "median us": 1e3 * median(one.percentile(50) for one in loads),
            "p99 us": 1e3 * median(one.percentile(99) for one in loads),
        }
        for name, loads in turns.items()
    ]


# Shapes


def shapes(setting: Setting) -> Iterator[Row]:
    """A known shape, alone and while there are new ones."""
    model = batching.mlp()
    path, inputs = setting.save(model), example(model)
    with glow_server(path, "--batching", "off") as ports:
        yield asyncio.run(shapes_row(setting, ports, inputs))


async def shapes_row(
    setting: Setting, ports: Ports, inputs: dict[str, np.ndarray]
) -> Row:
    """The 99th percentile of both."""
    known = HttpClient(ports.http, http_request(MODEL, inputs, binary=True))
    await warm(known)
    seconds, size = 2 * setting.seconds, 1
    alone = await open_loop(known.send, 100, seconds)

    async def ask_new() -> None:
        nonlocal size
        while True:
            size += 1
            more = {name: np.repeat(array, size, 0) for name, array in inputs.items()}
            client = HttpClient(ports.http, http_request(MODEL, more, binary=True))
            await client.send()
            await client.close()

    asking = asyncio.create_task(ask_new())
    beside = await open_loop(known.send, 100, seconds)
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    await known.close()
    before, after = alone.percentile(99), beside.percentile(99)
    return {
        "network": "mlp", "p99 ms": before, "beside new shapes": after,
        "x": after / before, "new shapes": size - 1,
    }  # fmt: skip


# Memory


def memory(setting: Setting) -> Iterator[Row]:
    """MiB of several workers, each of which has answered."""
    for name in setting.networks:
        model = SERVED[name]()
        path, inputs = setting.save(model), example(model)
        weights = sum(len(one.raw_data) for one in model.graph.initializer)
        row: Row = {"network": name, "weights": weights / 2**20}
        for count in (1, 2, 4):
            with glow_server(path, "--processes", str(count)) as ports:
                client = HttpClient(
                    ports.http, http_request(MODEL, inputs, binary=True)
                )
                asyncio.run(ask_all(client, setting.seconds))
                row[f"{count} workers"] = ports.memory_bytes() / 2**20
        yield row


async def ask_all(client: HttpClient, seconds: float) -> None:
    """Keep all workers busy for a while."""
    await closed_loop(client.send, 8, seconds)
    await client.close()


TABLES: dict[str, Callable[[Setting], Iterator[Row]]] = {
    "overhead": overhead,
    "load": load,
    "batching": batches,
    "memory": memory,
    "shapes": shapes,
}


def table(rows: Sequence[Row]) -> str:
    """The rows as a Markdown table."""
    cells = [list(rows[0]), *([cell(value) for value in row.values()] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    cells.insert(1, [f"{'-' * (width - 1)}:" for width in widths])
    return "\n".join(f"| {' | '.join(map(str.rjust, c, widths))} |" for c in cells)


def cell(value: str | float) -> str:
    """A value as text."""
    return (
        value
        if isinstance(value, str)
        else f"{value:.3g}"
        if value < 100
        else f"{value:.0f}"
    )


def main() -> None:
    """Print the tables that are named, or all."""
    parser = argparse.ArgumentParser(prog="serving", description=__doc__)
    parser.add_argument("tables", nargs="*", metavar="table", help=", ".join(TABLES))
    parser.add_argument("--networks", default="digits_mlp,minilm16,minilm128,resnet50")
    parser.add_argument("--quick", action="store_true", help="a few minutes in all")
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="write rows to a file"
    )
    options = parser.parse_args()
    if unknown := {*options.tables} - {*TABLES} or {*options.networks.split(",")} - {
        *SERVED
    }:
        parser.error(f"unknown {', '.join(sorted(unknown))}")
    found: dict[str, list[Row]] = {}
    for name in options.tables or TABLES:
        with TemporaryDirectory() as folder:
            times = (1.0, 3, 1) if options.quick else (4.0, 6, 3)
            networks = options.networks.split(",")
            setting = Setting(Path(folder), *times, networks)
            found[name] = list(TABLES[name](setting))
        print(f"\n{name}\n\n{table(found[name])}", flush=True)
        if options.json:
            run = {"commit": commit(), "machine": machine()}
            content = json.dumps({"run": run, "tables": found}, indent=2)
            options.json.write_text(content + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
