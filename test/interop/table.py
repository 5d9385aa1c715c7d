"""The table of docs/interop.md: format, direction, network, what was found.

`--write` measures what the machine can (IREE, mlir-opt) and puts the rows into the page. Each
network goes out from the optimized graph; IREE compiles and runs it, and its results are
compared with those of `numerics="exact"`; StableHLO is read again, too.
"""

import argparse
import importlib
import re
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[2]))

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

LIMIT = 1e-4
MEGABYTE = 1 << 20


def main():
    """Print the rows, or write them into the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write docs/interop.md")
    parser.add_argument("--tiny", action="store_true", help="only the small networks")
    parser.add_argument("--formats", nargs="*", default=list(OUT))
    arguments = parser.parse_args()
    rows = []
    for name in arguments.formats:
        networks = TINY_NETWORKS if arguments.tiny else NETWORKS
        wanted = TINY_NETWORKS if arguments.tiny else OUT[name]
        for network in wanted:
            if name == "tosa" and network == "lstm":
                continue
            build = networks.get(network) or QUANTIZED_NETWORKS[network]
            rows.append(row(name, network, build))
            print(rows[-1], flush=True)
    if arguments.write:
        write_rows(rows)
    return any("differs" in one or "fails" in one for one in rows)


def row(name, network, build):
    """The row of a network that goes out in a format."""
    model = build()
    inputs = make_inputs(model)
    target = getattr(importlib.import_module(f"glow.exporters.{name}"), name.upper())
    with TemporaryDirectory() as folder, ExitStack() as files:
        path = Path(folder) / "program.mlir"
        module = lower_to(load(model), "graph")
        start = time.perf_counter()
        program = export_program(module, target, PARAMETERS)
        with path.open("w") as stream, files:
            write_program(program, path, stream, files)
        seconds = time.perf_counter() - start
        found = compared(model, inputs, path)
        size = path.stat().st_size / MEGABYTE
    return f"| {name} | out | {network} | {found} | {size:.1f} MB, {seconds:.1f} s |"


def compared(model, inputs, path):
    """What IREE makes of a program: how far it is off, or what it says."""
    from iree_tools import compiled, run_compiled

    try:
        binary = compiled(path)
    except Exception as error:
        lines = re.findall(r"error: (.*)", str(error)) or [type(error).__name__]
        return f"fails in IREE: {lines[0][:80]}"
    results = run_compiled(binary, inputs.values(), sidecar_of(path))
    expected = glow.compile(model, numerics="exact")(*inputs.values())
    expected = expected if isinstance(expected, (list, tuple)) else [expected]
    worst = 0.0
    for result, wanted in zip(results, expected, strict=True):
        size = np.abs(wanted).max()
        worst = max(worst, float(np.abs(result - np.asarray(wanted)).max() / size))
    return f"{'works' if worst < LIMIT else 'differs'}: IREE, {worst:.1e}"


def write_rows(rows):
    """Put the rows between the marks of the page."""
    head = [
        "| format | direction | network | largest relative difference | text, export |",
        "|---|---|---|---|---|",
    ]
    text = PAGE.read_text("utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    lines = "\n".join([BEGIN, *head, *rows, END])
    PAGE.write_text(before + lines + after, "utf-8")


if __name__ == "__main__":
    sys.exit(main())
