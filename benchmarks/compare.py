"""Measures Glow against ONNX Runtime, OpenVINO and others, and compares what they compute.

python benchmarks/compare.py --networks resnet50,lstm --threads 1,2 --json results.json
python benchmarks/compare.py --all --exact --json results.json --chart results.svg

A result that is wrong or NaN is an error, and so is a runtime of ours that fails. The JSON file
is written after each network, and the same command goes on with the networks that it lacks.

Speed here means the median of many inferences of one input, each runtime in its own process
on the same cores. The runtimes take turns, each the first in its turn, because a machine's
speed drifts by more than the differences of interest; while one measures the others are
stopped. With more than one thread it also depends on whether the cores share an L3 at the time,
so that either state has a row of its own (`rounds.py`). The table goes to stdout as Markdown,
progress to stderr.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np

from benchmarks.compile_time import CompileError, optimizer_share
from benchmarks.networks import (
    NETWORKS,
    OPERATOR_NETWORKS,
    TRANSFORMER_NETWORKS,
    make_inputs,
)
from benchmarks.peers.client import Array, Server, ServerError, cores_of
from benchmarks.peers.contestants import (
    KNOWN,
    MODEL,
    OPERATORS,
    PEERS,
    TRANSFORMERS,
    Contest,
    is_ours,
)
from benchmarks.record import Record, RecordError, open_record, this_run
from benchmarks.result import Errors, Result, largest_error, relative_spread
from benchmarks.rounds import by_state, play
from benchmarks.table import table
from glow.runtime.calibration.cross_core import cross_core_latency


def main() -> int:
    arguments = parse_arguments()
    contest = Contest(
        arguments.peers, dict(arguments.python), arguments.exact, arguments.bf16
    )
    if not contest.peers:
        print("compare: none of the peers is installed", file=sys.stderr)
        return 1
    try:
        record = open_record(arguments.json, this_run(options_of(arguments)))
    except RecordError as error:
        print(f"compare: {error}", file=sys.stderr)
        return 1
    done = [] if arguments.again else list(record.networks)
    missing = [name for name in arguments.networks if name not in done]
    right = [measure_network(name, contest, record, arguments) for name in missing]
    if record.results:
        print(table(record.results))
        if arguments.chart:
            write_chart(record.results, arguments.chart)
    return int(not all(right))


def measure_network(
    network: str, contest: Contest, record: Record, arguments: argparse.Namespace
) -> bool:
    """Measure a network and record it; returns False, and says so, where it is wrong.

    What is wrong is not recorded: the next run measures it again.
    """
    try:
        results = list(compare(network, arguments.threads, contest, arguments.rounds))
    except (ServerError, CompileError) as error:
        print(f"compare: {network}: {error}", file=sys.stderr)
        return False
    print(table(results), file=sys.stderr)
    faults = dict.fromkeys(fault for result in results for fault in result.faults())
    for fault in faults:
        print(f"compare: error: {fault}", file=sys.stderr)
    if faults:
        return False
    record.networks[network] = results
    if arguments.json:
        record.write(arguments.json)
    return True


def write_chart(results: Sequence[Result], path: Path) -> None:
    """Write the results as a picture."""
    from benchmarks.chart import draw

    labels = [f"{result.network}, {result.threads_and_state}" for result in results]
    draw(labels, [result.milliseconds for result in results], path)


def options_of(arguments: argparse.Namespace) -> list[str]:
    """Returns the options that what is measured depends on, but for the networks."""
    threads = ",".join(map(str, arguments.threads))
    flags = [f"--{name}" for name in ("exact", "bf16") if getattr(arguments, name)]
    return [
        *("--threads", threads, "--peers", ",".join(arguments.peers)),
        *("--rounds", str(arguments.rounds), *flags),
    ]


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
        help="turns of each runtime on cores with one cross-core latency (default: 5)",
    )
    add(
        "--json",
        type=new_file,
        metavar="FILE",
        help="write each network's results here, and skip those that it has",
    )
    add("--again", action="store_true", help="measure networks that FILE has again")
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
    """Write the model and `inputs.npz`, and the other forms in which peers run it."""
    model = KNOWN[network]()
    np.savez(folder / "inputs.npz", allow_pickle=False, **make_inputs(model))
    (folder / MODEL).write_bytes(model.SerializeToString())
    if network in OPERATOR_NETWORKS:
        operators = OPERATOR_NETWORKS[network]()
        (folder / OPERATORS).write_bytes(operators.SerializeToString())
    if network in TRANSFORMER_NETWORKS:
        from benchmarks.peers.ort_transformers import optimize

        optimized = optimize(folder / MODEL, TRANSFORMER_NETWORKS[network])
        if optimized is not None:
            (folder / TRANSFORMERS).write_bytes(optimized.SerializeToString())


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
    share = optimizer_share(folder / MODEL, threads)
    with ExitStack() as stack:
        servers = start_all(network, runners, start, stack)
        cores = cores_of(threads)
        played = play(servers, rounds, lambda: cross_core_latency(cores))
        saved = {
            name: server.save(folder / f"{name}.npz")
            for name, server in servers.items()
        }
    outputs = {name: values for name, (values, _) in saved.items()}
    return [
        Result(
            network,
            threads,
            group.state,
            group.latency,
            len(group.rounds),
            {name: median(measured) for name, measured in group.times.items()},
            {name: relative_spread(measured) for name, measured in group.times.items()},
            {name: peak for name, (_, peak) in saved.items()},
            {name: server.load_seconds for name, server in servers.items()},
            cold_seconds,
            cold_megabytes,
            share,
            errors_of(outputs),
            {name: server.version for name, server in servers.items()},
            "bf16" if contest.bf16 else "f32",
        )
        for group in by_state(played)
    ]


def errors_of(outputs: Mapping[str, list[Array]]) -> Errors:
    """Returns how far each of our columns is from each peer."""
    return {
        ours: {
            peer: largest_error(outputs[ours], theirs)
            for peer, theirs in outputs.items()
            if not is_ours(peer)
        }
        for ours in filter(is_ours, outputs)
    }


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


if __name__ == "__main__":
    sys.exit(main())
