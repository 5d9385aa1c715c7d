"""Every operator and whole networks on an OpenCL device: `make test-opencl`.

Networks are compared with the interpreter, ONNX's tests of operators with the results that they
bring. A test that the CPU does not pass (`test/onnx_conformance.txt`) is left out. Without a device
nothing is compared, which is no success.

    python test/fuzz/opencl/compare_device.py --every 10        # each tenth test of an operator
    python test/fuzz/opencl/compare_device.py --every 6 --first 5   # the last of six slices
    python test/fuzz/opencl/compare_device.py resnet50 --every 0  # this network alone
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "python"))
sys.path.insert(0, str(Path(__file__).parents[3]))

from support.programs.all_networks import CHEAP, chosen
from support.runtime.opencl_testing import check_against_interpreter

from glow.backends.backend import get_backend
from glow.tools.conformance.cases import node_cases
from glow.tools.conformance.outcomes import run_case

RECORD = Path(__file__).parents[2] / "onnx_conformance.txt"


def failed_networks(names: Sequence[str]) -> Iterator[str]:
    """What differs, a line a network."""
    for name, build in chosen(names).items():
        try:
            check_against_interpreter(build())
        except Exception as error:
            yield f"{name}: {type(error).__name__}: {' '.join(str(error).split())[:200]}"


def failed_operators(every: int, first: int) -> Iterator[str]:
    """The tests that the CPU passes and the device does not, each so many from one on."""
    known = {line.partition(": ")[0] for line in RECORD.read_text().splitlines()}
    for number, case in enumerate(node_cases()):
        if every and number % every == first and f"cpu {case.key}" not in known:
            outcome = run_case(case, "opencl")
            if outcome.kind != "passed":
                yield f"{outcome.key}: {outcome.kind}: {outcome.reason}"


def main() -> int:
    """Compare, print what differs and how long it took."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("networks", nargs="*", help="by name; the small ones without")
    parser.add_argument(
        "--every",
        type=int,
        default=1,
        help="each so many tests of operators; 0 for none",
    )
    parser.add_argument(
        "--first", type=int, default=0, help="the first of them, below --every"
    )
    args = parser.parse_args()
    backend = get_backend("opencl")
    if not backend.devices():
        print(f"nothing is compared: {backend.why_no_device()}")
        return 1
    warnings.simplefilter("ignore")
    begin, failed = time.monotonic(), 0
    for line in (
        *failed_networks(args.networks or list(CHEAP)),
        *failed_operators(args.every, args.first),
    ):
        print(line, flush=True)
        failed += 1
    device = backend.devices()[0].description
    print(f"{failed} differ on {device}, {time.monotonic() - begin:.0f} s")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
