"""Measures Glow against ONNX Runtime, OpenVINO and others, and compares what they compute.

python benchmarks/compare.py --networks resnet50,lstm --threads 1,2 --json results.json
python benchmarks/compare.py --all --exact --json results.json --chart results.svg

Speed here means the median of many inferences of one input, each runtime in its own process
on the same cores. The runtimes take turns, A B A B, because a machine's speed drifts by more
than the differences of interest; while one measures the others are stopped. With more than one
thread it also depends on how far apart the cores are at the time, so that near and far ones have
a row each (`rounds.py`). The table goes to stdout as Markdown, progress to stderr.
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
from statistics import median, quantiles

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np

from benchmarks.client import Array, Server, ServerError, cores_of
from benchmarks.contestants import (
    KNOWN,
    MODEL,
    OPERATORS,
    PEERS,
    RIVALS,
    Contest,
    is_ours,
)
from benchmarks.core_distance import core_distance
from benchmarks.networks import NETWORKS, OPERATOR_NETWORKS, make_inputs
from benchmarks.rounds import by_state, play


@dataclass(frozen=True)
class Result:
    """One row of the table: a network at a number of threads, on near or on far cores."""

    network: str
    threads: int
    state: str | None
    """`near` or `far`; None for one thread, and where neither held through a round."""
    distance_nanoseconds: float | None
    """The median time that a cache line takes from core to core and back."""
    rounds: int
    """Those that this row is of."""
    milliseconds: dict[str, float]
    """The median inference by runtime; `glow` is ours."""
    spread: dict[str, float]
    """Half the distance between the quartiles of the times, over their median."""
    peak_megabytes: dict[str, float]
    load_seconds: dict[str, float]
    """Of `glow` with a warm cache."""
    cold_seconds: float
    cold_megabytes: float
    error: float
    """The largest difference from any peer, over that peer's largest output."""
    versions: dict[str, str]

    @property
    def threads_and_state(self) -> str:
        """Returns how it ran, for people to read."""
        return f"{self.threads} {self.state}" if self.state else str(self.threads)

    @property
    def ratio(self) -> float:
        """The best rival's time over ours: above one, we are faster."""
        return self.ratio_of("glow")

    def ratio_of(self, ours: str) -> float:
        """Returns the best rival's time over that of `ours`."""
        peers = {n: time for n, time in self.milliseconds.items() if not is_ours(n)}
        rivals = [time for name, time in peers.items() if name in RIVALS]
        return min(rivals or peers.values()) / self.milliseconds[ours]


def main() -> int:
    arguments = parse_arguments()
    contest = Contest(
        arguments.peers, dict(arguments.python), arguments.exact, arguments.bf16
    )
    if not contest.peers:
        print("compare: none of the peers is installed", file=sys.stderr)
        return 1
    results: list[Result] = []
    failed = False
    for network in arguments.networks:
        try:
            for result in compare(
                network, arguments.threads, contest, arguments.rounds
            ):
                results.append(result)
                print(table([result]), file=sys.stderr)
        except ServerError as error:
            print(f"compare: {network}: {error}", file=sys.stderr)
            failed = True
    if results:
        print(table(results))
        write(results, arguments.json, arguments.chart)
    return int(failed)


def write(results: Sequence[Result], table: Path | None, chart: Path | None) -> None:
    """Write the results as JSON and as a picture, where files are given."""
    if table:
        rows = [{**asdict(result), "ratio": result.ratio} for result in results]
        table.write_text(json.dumps(rows, indent=2) + "\n")
    if chart:
        from benchmarks.chart import draw

        labels = [f"{result.network}, {result.threads_and_state}" for result in results]
        draw(labels, [result.milliseconds for result in results], chart)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="compare", description="Measure Glow against other runtimes."
    )
    add = parser.add_argument
    add("--networks", type=names(KNOWN), default=list(NETWORKS), metavar="A,B")
    add("--threads", type=counts, default=[1, 2], metavar="N,M")
    add("--peers", type=names(PEERS), default=list(PEERS)[:2], metavar="A,B")
    add("--all", action="store_true", help="every network against every peer")
    add("--exact", action="store_true", help="time our numerics=exact as well")
    add("--bf16", action="store_true", help="bf16 in Glow and OpenVINO")
    add(
        "--rounds",
        type=positive,
        default=5,
        metavar="N",
        help="turns of each runtime on cores at one distance (default: 5)",
    )
    add("--json", type=new_file, metavar="FILE", help="write the results here as well")
    add(
        "--chart",
        type=new_file,
        metavar="FILE.svg",
        help="draw them (needs matplotlib)",
    )
    add(
        "--python",
        type=interpreter,
        action="append",
        default=[],
        metavar="PEER=PATH",
        help="the Python that has this peer, if it is another (may be repeated)",
    )
    arguments = parser.parse_args()
    if arguments.chart and find_spec("matplotlib") is None:
        parser.error("--chart needs matplotlib, which is not installed")
    if arguments.all:
        arguments.networks, arguments.peers = list(KNOWN), list(PEERS)
    return arguments


def new_file(text: str) -> Path:
    """Returns the path of a file in a folder that exists: it is written after an hour."""
    path = Path(text)
    if path.is_dir() or not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"'{text}' cannot be written")
    return path


def interpreter(text: str) -> tuple[str, str]:
    """Returns the peer and the path of `PEER=PATH`."""
    peer, _, path = text.partition("=")
    if peer not in PEERS or not Path(path).is_file():
        raise argparse.ArgumentTypeError(f"expected PEER=PYTHON, not '{text}'")
    return peer, path


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


def positive(text: str) -> int:
    """Returns a positive number."""
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"expected a positive number, not '{text}'")
    return int(text)


def compare(
    network: str, thread_counts: Sequence[int], contest: Contest, rounds: int
) -> Iterator[Result]:
    """Yield the results of `network` at each number of threads.

    Raises ServerError when a runtime fails.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print(f"{network}: building", file=sys.stderr)
        write_network(network, folder)
        for threads in thread_counts:
            yield from measure(network, threads, contest, rounds, folder)


def write_network(network: str, folder: Path) -> None:
    """Write the model, as operators too where there are such, and `inputs.npz`."""
    model = KNOWN[network]()
    np.savez(folder / "inputs.npz", allow_pickle=False, **make_inputs(model))
    (folder / MODEL).write_bytes(model.SerializeToString())
    if network in OPERATOR_NETWORKS:
        operators = OPERATOR_NETWORKS[network]()
        (folder / OPERATORS).write_bytes(operators.SerializeToString())


def measure(
    network: str, threads: int, contest: Contest, rounds: int, folder: Path
) -> list[Result]:
    """Returns the results at one number of threads, all runtimes alive at once."""
    runners = contest.runners(network)
    cache = tempfile.mkdtemp(dir=folder)

    def start(name: str) -> Server:
        print(f"{network}, {threads} threads: {name} loads", file=sys.stderr)
        runtime, model = runners[name]
        files = folder / model, folder / "inputs.npz"
        python = contest.python(name)
        return Server(runtime, *files, threads, {"XDG_CACHE_HOME": cache}, python)

    # What is timed below found its model compiled: no thread stores it beside the work.
    # `glow` is the first, so that its kernels are not known either.
    cold = {name: first_run(start(name), folder) for name in runners if is_ours(name)}
    cold_seconds, cold_megabytes = cold["glow"]
    with ExitStack() as stack:
        servers = start_all(network, runners, start, stack)
        cores = cores_of(threads)
        played = play(servers, rounds, lambda: core_distance(cores))
        saved = {
            name: server.save(folder / f"{name}.npz")
            for name, server in servers.items()
        }
    errors = [largest_error(saved["glow"][0], outputs) for outputs, _ in saved.values()]
    return [
        Result(
            network,
            threads,
            group.state,
            group.distance,
            len(group.rounds),
            {name: median(measured) for name, measured in group.times.items()},
            {name: relative_spread(measured) for name, measured in group.times.items()},
            {name: peak for name, (_, peak) in saved.items()},
            {name: server.load_seconds for name, server in servers.items()},
            cold_seconds,
            cold_megabytes,
            float(np.max(errors)),
            {name: server.version for name, server in servers.items()},
        )
        for group in by_state(played)
    ]


def first_run(server: Server, folder: Path) -> tuple[float, float]:
    """Returns the seconds of loading and the peak memory in MB of a runtime, and ends it."""
    with server:
        return server.load_seconds, server.save(folder / "cold.npz")[1]


def start_all(
    network: str,
    names: Collection[str],
    start: Callable[[str], Server],
    stack: ExitStack,
) -> dict[str, Server]:
    """Returns the runtimes that run the network, which end with `stack`.

    A peer that cannot is left out; raises ServerError where no peer can, or where ours cannot.
    """
    servers: dict[str, Server] = {}
    for name in names:
        try:
            server = stack.enter_context(start(name))
            server.run(1)
        except ServerError as error:
            if is_ours(name):
                raise
            print(f"compare: {network}: {error}, left out", file=sys.stderr)
        else:
            servers[name] = server
    if all(map(is_ours, servers)):
        raise ServerError("no peer can run it")
    return servers


def relative_spread(measured: Sequence[float]) -> float:
    """Returns half the distance between the quartiles, over the median."""
    if len(measured) < 2:
        return 0.0
    low, middle, high = quantiles(measured, n=4)
    return (high - low) / 2 / middle


def largest_error(ours: list[Array], theirs: list[Array]) -> float:
    """Returns the largest difference over the largest expected value, of any output.

    NaN where a result is NaN. Raises ServerError where only zeros are expected: they would
    compare equal whatever was computed.
    """
    if not all(np.any(their) for their in theirs):
        raise ServerError("a result is zero everywhere: nothing to compare")
    errors = [
        np.abs(our - their).max() / np.abs(their).max()
        for our, their in zip(ours, theirs, strict=True)
    ]
    return float(np.max(errors))


def table(results: Sequence[Result]) -> str:
    """Returns the results as a Markdown table, its columns padded to be read as it is."""
    columns = dict.fromkeys(name for result in results for name in result.milliseconds)
    peers = [name for name in columns if name != "glow"]
    header = ["model", "threads", "glow ms", *(f"{peer} ms" for peer in peers), "ratio"]
    if "glow exact" in columns:
        header.append("exact ratio")
    header += ["cold s", "warm s", "cold MB", "MB"]
    header += [*(f"{peer} MB" for peer in peers), "error"]
    rows = [header, *(cells(result, peers) for result in results)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rows.insert(1, [f"{'-' * (width - 1)}:" for width in widths])
    return "\n".join(f"| {' | '.join(map(str.rjust, row, widths))} |" for row in rows)


def cells(result: Result, peers: Sequence[str]) -> list[str]:
    """Returns a row of the table, in the order of its header."""
    runtimes = ["glow", *peers]
    exact = "glow exact" in result.milliseconds
    return [
        result.network,
        result.threads_and_state,
        *(time(result, name) for name in runtimes),
        f"{result.ratio:.2f}",
        *([f"{result.ratio_of('glow exact'):.2f}"] if exact else []),
        f"{result.cold_seconds:.2f}",
        f"{result.load_seconds['glow']:.2f}",
        f"{result.cold_megabytes:.0f}",
        *(number(result.peak_megabytes, name, ".0f") for name in runtimes),
        f"{result.error:.0e}",
    ]


def time(result: Result, name: str) -> str:
    """Returns a runtime's median and its spread, a dash where it has none."""
    if name not in result.milliseconds:
        return "-"
    return f"{result.milliseconds[name]:.2f} ±{result.spread[name]:.0%}"


def number(values: dict[str, float], name: str, form: str) -> str:
    """Returns the value of a runtime as text, a dash where it has none."""
    return format(values[name], form) if name in values else "-"


if __name__ == "__main__":
    sys.exit(main())
