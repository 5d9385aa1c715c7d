"""Measures Glow against ONNX Runtime and OpenVINO, and compares what they compute.

python benchmarks/compare.py --networks resnet50,lstm --threads 1,2 --json results.json

Speed here means the median of many inferences of one input, each runtime in its own process
on the same cores. The runtimes take turns, A B A B, because a machine's speed drifts by more
than the differences of interest; while one measures the others are stopped. The table goes
to stdout as Markdown, progress to stderr.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np

from benchmarks.client import Array, Server, ServerError
from benchmarks.networks import (
    NETWORKS,
    OPERATOR_NETWORKS,
    QUANTIZED_NETWORKS,
    make_inputs,
)

KNOWN = {**NETWORKS, **QUANTIZED_NETWORKS}
PEERS = {"ort": "onnxruntime", "openvino": "openvino"}
"""The module of each peer."""
MODEL = "model.onnx"
OPERATORS = "operators.onnx"
"""The same quantized network as integer operators."""
TURN_MILLISECONDS = 500
MOST_INFERENCES = 200


@dataclass(frozen=True)
class Result:
    """One row of the table: a network at a number of threads."""

    network: str
    threads: int
    milliseconds: dict[str, float]
    """The median inference by runtime; `glow` is ours."""
    peak_megabytes: dict[str, float]
    load_seconds: dict[str, float]
    """Of `glow` with a warm cache."""
    cold_seconds: float
    error: float
    """The largest difference from any peer, over that peer's largest output."""
    versions: dict[str, str]

    @property
    def ratio(self) -> float:
        """The best peer's time over ours: above one, we are faster."""
        peers = [time for name, time in self.milliseconds.items() if name != "glow"]
        return min(peers) / self.milliseconds["glow"]


def main() -> int:
    arguments = parse_arguments()
    peers = [peer for peer in arguments.peers if is_installed(peer)]
    if not peers:
        print("compare: none of the peers is installed", file=sys.stderr)
        return 1
    results: list[Result] = []
    failed = False
    for network in arguments.networks:
        try:
            results += compare(network, arguments.threads, peers, arguments.rounds)
        except ServerError as error:
            print(f"compare: {network}: {error}", file=sys.stderr)
            failed = True
    if results:
        print(table(results))
    if arguments.json:
        rows = [{**asdict(result), "ratio": result.ratio} for result in results]
        arguments.json.write_text(json.dumps(rows, indent=2) + "\n")
    return int(failed)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="compare", description="Measure Glow against other runtimes."
    )
    add = parser.add_argument
    add("--networks", type=names(KNOWN), default=list(NETWORKS), metavar="A,B")
    add("--threads", type=counts, default=[1, 2], metavar="N,M")
    add("--peers", type=names(PEERS), default=list(PEERS), metavar="A,B")
    add("--rounds", type=int, default=5, help="turns of each runtime (default: 5)")
    add("--json", type=Path, metavar="FILE", help="write the results here as well")
    return parser.parse_args()


def names(known: Collection[str]) -> Callable[[str], list[str]]:
    """Returns a parser of comma-separated names out of `known`."""

    def parse(text: str) -> list[str]:
        chosen = text.split(",")
        if unknown := [name for name in chosen if name not in known]:
            raise argparse.ArgumentTypeError(
                f"unknown: {', '.join(unknown)}; known are {', '.join(known)}"
            )
        return chosen

    return parse


def counts(text: str) -> list[int]:
    """Returns comma-separated positive numbers."""
    if not all(part.isdecimal() and int(part) for part in text.split(",")):
        raise argparse.ArgumentTypeError(f"expected numbers such as 1,2, not '{text}'")
    return [int(part) for part in text.split(",")]


def is_installed(peer: str) -> bool:
    """Tell on stderr if `peer` is missing; returns whether it is there."""
    found = find_spec(PEERS[peer]) is not None
    if not found:
        print(f"compare: {PEERS[peer]} is not installed, left out", file=sys.stderr)
    return found


def compare(
    network: str, thread_counts: Sequence[int], peers: Sequence[str], rounds: int
) -> Iterator[Result]:
    """Yield the result of `network` at each number of threads.

    Raises ServerError when a runtime fails.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print(f"{network}: building", file=sys.stderr)
        write_network(network, folder)
        for threads in thread_counts:
            yield measure(network, threads, peers, rounds, folder)


def write_network(network: str, folder: Path) -> None:
    """Write the model, as operators too where there are such, and `inputs.npz`."""
    model = KNOWN[network]()
    np.savez(folder / "inputs.npz", allow_pickle=False, **make_inputs(model))
    (folder / MODEL).write_bytes(model.SerializeToString())
    if network in OPERATOR_NETWORKS:
        operators = OPERATOR_NETWORKS[network]()
        (folder / OPERATORS).write_bytes(operators.SerializeToString())


def runners(network: str, peers: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Returns the runtime of `server.py` and the file of each column of the table.

    Of a quantized network OpenVINO may compute the rest in its default precision.
    """
    found = {name: (name, MODEL) for name in ("glow", *peers)}
    if network in QUANTIZED_NETWORKS and "openvino" in peers:
        found["openvino"] = ("openvino_default", MODEL)
    if network in OPERATOR_NETWORKS and "ort" in peers:
        found["ort operators"] = ("ort", OPERATORS)
    return found


def measure(
    network: str, threads: int, peers: Sequence[str], rounds: int, folder: Path
) -> Result:
    """Returns the result at one number of threads, all runtimes alive at once.

    A peer that cannot run the network is left out.
    """

    def start(runtime: str, model: str) -> Server:
        print(f"{network}, {threads} threads: {runtime} loads", file=sys.stderr)
        files = folder / model, folder / "inputs.npz"
        return Server(runtime, *files, threads, {"XDG_CACHE_HOME": cache})

    cache = tempfile.mkdtemp(dir=folder)
    with start("glow", MODEL) as cold:
        cold_seconds = cold.load_seconds
    with ExitStack() as stack:
        servers: dict[str, Server] = {}
        for name, (runtime, model) in runners(network, peers).items():
            try:
                server = stack.enter_context(start(runtime, model))
                server.run(1)
            except ServerError as error:
                if name == "glow":
                    raise
                print(f"compare: {network}: {error}, left out", file=sys.stderr)
            else:
                servers[name] = server
        if len(servers) == 1:
            raise ServerError("no peer can run it")
        milliseconds = take_turns(servers, rounds)
        saved = {
            name: server.save(folder / f"{name}.npz")
            for name, server in servers.items()
        }
    return Result(
        network,
        threads,
        milliseconds,
        {name: peak for name, (_, peak) in saved.items()},
        {name: server.load_seconds for name, server in servers.items()},
        cold_seconds,
        max(largest_error(saved["glow"][0], outputs) for outputs, _ in saved.values()),
        {name: server.version for name, server in servers.items()},
    )


def take_turns(servers: dict[str, Server], rounds: int) -> dict[str, float]:
    """Returns the median milliseconds of each runtime over all its turns."""
    inferences = {
        name: max(1, min(MOST_INFERENCES, int(TURN_MILLISECONDS / min(server.run(2)))))
        for name, server in servers.items()
    }
    times: dict[str, list[float]] = {name: [] for name in servers}
    for turn in range(rounds):
        print(f"  turn {turn + 1} of {rounds}", file=sys.stderr)
        for name, server in servers.items():
            times[name] += server.run(inferences[name])
    return {name: median(measured) for name, measured in times.items()}


def largest_error(ours: list[Array], theirs: list[Array]) -> float:
    """Returns the largest difference over the largest expected value, of any output."""
    return max(
        float(np.abs(our - their).max() / np.abs(their).max())
        for our, their in zip(ours, theirs, strict=True)
    )


def table(results: Sequence[Result]) -> str:
    """Returns the results as a Markdown table, its columns padded to be read as it is."""
    columns = dict.fromkeys(name for result in results for name in result.milliseconds)
    peers = [name for name in columns if name != "glow"]
    header = ["model", "threads", "glow ms", *(f"{peer} ms" for peer in peers), "ratio"]
    header += ["cold s", "warm s", "MB", *(f"{peer} MB" for peer in peers), "error"]
    rows = [header, *(cells(result, peers) for result in results)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rows.insert(1, [f"{'-' * (width - 1)}:" for width in widths])
    return "\n".join(f"| {' | '.join(map(str.rjust, row, widths))} |" for row in rows)


def cells(result: Result, peers: Sequence[str]) -> list[str]:
    """Returns a row of the table, in the order of its header."""
    runtimes = ["glow", *peers]
    return [
        result.network,
        str(result.threads),
        *(number(result.milliseconds, name, ".2f") for name in runtimes),
        f"{result.ratio:.2f}",
        f"{result.cold_seconds:.2f}",
        f"{result.load_seconds['glow']:.2f}",
        *(number(result.peak_megabytes, name, ".0f") for name in runtimes),
        f"{result.error:.0e}",
    ]


def number(values: dict[str, float], name: str, form: str) -> str:
    """Returns the value of a runtime as text, a dash where it has none."""
    return format(values[name], form) if name in values else "-"


if __name__ == "__main__":
    sys.exit(main())
