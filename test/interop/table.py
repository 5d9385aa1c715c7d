"""The table of docs/interop.md: format, direction, network, what was found.

`--write` puts each row into the page as soon as it is measured, in the place of that of before, so
that a run that is interrupted loses nothing. Out: each network is written from the optimized graph,
IREE compiles and runs it. In: the same programs, and those that iree-import-onnx makes of networks,
are read, compiled and run. Results are compared with those of `numerics="exact"`. A graph that
comes in has at most a tenth more nodes than it had.
"""

import argparse
import importlib
import re
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import onnx

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "python"))
sys.path.insert(0, str(Path(__file__).parents[2]))

from support.programs.round_trips import MOST_NODES, node_count

import glow
from benchmarks.networks import (
    NETWORKS,
    QUANTIZED_NETWORKS,
    TINY_NETWORKS,
    make_inputs,
)
from glow.compiler import load, lower_to
from glow.exporters import PARAMETERS
from glow.exporters.programs import export_program
from glow.exporters.programs.text import write_program
from glow.frontends.sidecar import sidecar_of

PAGE = Path(__file__).parents[2] / "docs" / "interop.md"
BEGIN, END = "<!-- interop table -->", "<!-- end of the table -->"

CONVOLUTIONAL = (
    "squeezenet",
    "resnet50",
    "vgg19",
    "densenet121",
    "inception_v1",
    "inception_v2",
    "shufflenet",
    "mobilenet_v2",
)
BYTES = ("squeezenet_s8s8", "mobilenet_v2_s8s8")
ALL = (*CONVOLUTIONAL, "bert_base", "minilm", "lstm")
OUT = {"stablehlo": ALL, "linalg": ALL, "tosa": (*CONVOLUTIONAL, "minilm", *BYTES)}
"""Format to the networks that are written in it."""

SMALL = ("squeezenet", "shufflenet", "mobilenet_v2", "inception_v1", "lstm")
IN = {**OUT, "onnx in torch": SMALL}
"""Format to the networks that are read in it: those that go out, with weights beside the text, or
where the text of another tool holds them.
"""

LIMIT = 1e-4
MEGABYTE = 1 << 20


def main():
    """Print the rows, or write them into the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write docs/interop.md")
    parser.add_argument("--tiny", action="store_true", help="only the small networks")
    parser.add_argument("--formats", nargs="*", default=list(IN))
    parser.add_argument("--directions", nargs="*", default=list(DIRECTIONS))
    parser.add_argument("--networks", nargs="*", default=None)
    arguments = parser.parse_args()
    if arguments.write and arguments.tiny:
        parser.error("the page has no rows of the small networks")
    rows = []
    for direction in arguments.directions:
        formats, row = DIRECTIONS[direction]
        for name in arguments.formats:
            for network, build in chosen(formats.get(name, ()), arguments):
                if name == "tosa" and network == "lstm":
                    continue
                rows.append(row(name, network, build))
                print(rows[-1], flush=True)
                if arguments.write:
                    write_row(rows[-1])
    return any("differs" in one or "fails" in one for one in rows)


def chosen(names, arguments):
    """The networks of a format that are wanted, and what builds them."""
    if arguments.tiny:
        return TINY_NETWORKS.items()
    return [
        (name, NETWORKS.get(name) or QUANTIZED_NETWORKS[name])
        for name in names
        if arguments.networks is None or name in arguments.networks
    ]


def export(name, model, path, weights):
    """Write a network as a program; how long that took, and the nodes of its graph."""
    target = getattr(importlib.import_module(f"glow.exporters.{name}"), name.upper())
    module = lower_to(load(model), "graph")
    count, start = node_count(module), time.perf_counter()
    program = export_program(module, target, weights)
    with path.open("w") as stream, ExitStack() as files:
        write_program(program, path, stream, files)
    return time.perf_counter() - start, count


def row_out(name, network, build):
    """The row of a network that goes out in a format."""
    model = build()
    inputs = make_inputs(model)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "program.mlir"
        seconds, _ = export(name, model, path, PARAMETERS)
        found = compared(model, inputs, path)
        size = path.stat().st_size / MEGABYTE
    return f"| {name} | out | {network} | {found} | {size:.1f} MB, {seconds:.1f} s |"


def row_in(name, network, build):
    """The row of a network that comes in in a format."""
    model = build()
    inputs = make_inputs(model)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "program.mlir"
        if name in OUT:
            count = export(name, model, path, PARAMETERS)[1]
        else:
            import_onnx(model, path)
            count = node_count(lower_to(load(model), "graph"))
        start = time.perf_counter()
        try:
            module = lower_to(load(path), "graph")
        except glow.GlowError as error:
            return f"| {name} | in | {network} | fails: {str(error)[:80]} | |"
        seconds, again = time.perf_counter() - start, node_count(module)
        results = glow.compile(path, numerics="exact")(*inputs.values())
    results = results if isinstance(results, (list, tuple)) else [results]
    worst = difference(results, expected_of(model, inputs))
    found = f"{'works' if worst < LIMIT else 'differs'}: Glow, {worst:.1e}"
    if again > MOST_NODES * count:
        found = f"differs: more than {MOST_NODES} times the nodes"
    nodes = f"{again} nodes of {count}, {seconds:.1f} s"
    return f"| {name} | in | {network} | {found} | {nodes} |"


def import_onnx(model, path):
    """Write a network as iree-import-onnx does."""
    source = path.with_suffix(".onnx")
    onnx.save(model, str(source))
    tool = Path(sys.executable).with_name("iree-import-onnx")
    subprocess.run([tool, source, "-o", path], check=True)


def compared(model, inputs, path):
    """What IREE makes of a program: how far it is off, or what it says."""
    from iree_tools import compiled, run_compiled

    try:
        results = run_compiled(compiled(path), inputs.values(), sidecar_of(path))
    except Exception as error:  # Whatever it says is told in the row.
        lines = re.findall(r"error: (.*)", str(error)) or str(error).splitlines()
        return f"fails in IREE: {lines[0][:80] if lines else type(error).__name__}"
    worst = difference(results, expected_of(model, inputs))
    return f"{'works' if worst < LIMIT else 'differs'}: IREE, {worst:.1e}"


def expected_of(model, inputs):
    """What the network computes here, in the order that it says."""
    expected = glow.compile(model, numerics="exact")(*inputs.values())
    return expected if isinstance(expected, (list, tuple)) else [expected]


def difference(results, expected):
    """The largest difference, in parts of the largest value of each output."""
    worst = 0.0
    for result, wanted in zip(results, expected, strict=True):
        size = np.abs(wanted).max()
        worst = max(worst, float(np.abs(result - np.asarray(wanted)).max() / size))
    return worst


DIRECTIONS = {"out": (OUT, row_out), "in": (IN, row_in)}
"""Direction to its formats and what makes a row."""


def keys_of_rows() -> list[tuple[str, str, str]]:
    """Format, direction and network of all rows, in the order of the measurements."""
    return [
        (name, direction, network)
        for direction, (formats, _) in DIRECTIONS.items()
        for name, networks in formats.items()
        for network in networks
    ]


def rows_of_page(text: str) -> tuple[str, dict[tuple[str, ...], str], str]:
    """The rows of the table, by format, direction and network, and the text around them."""
    before, _, rest = text.partition(BEGIN)
    inside, _, after = rest.partition(END)
    lines = inside.strip().splitlines()[2:]
    rows = {tuple(line.strip("| ").split(" | ")[:3]): line for line in lines}
    return before, rows, after


def write_row(row: str, page: Path = PAGE) -> None:
    """Put a row into the table of the page, in the order of the measurements.

    Rows of networks that are no longer measured go.
    """
    head = [
        "| format | direction | network | largest relative difference | how much, how long |",
        "|---|---|---|---|---|",
    ]
    before, rows, after = rows_of_page(page.read_text("utf-8"))
    rows[tuple(row.strip("| ").split(" | ")[:3])] = row
    lines = [rows[key] for key in keys_of_rows() if key in rows]
    page.write_text(before + "\n".join([BEGIN, *head, *lines, END]) + after, "utf-8")


if __name__ == "__main__":
    sys.exit(main())
