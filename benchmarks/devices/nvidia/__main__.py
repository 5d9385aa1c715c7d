"""Our CUDA backend on an NVIDIA GPU, beside cuBLAS, PyTorch and ONNX Runtime.

python -m benchmarks.devices.nvidia products networks overhead profile
python -m benchmarks.devices.nvidia networks profile --networks resnet50 --precision bf16
python -m benchmarks.devices.nvidia prepare             no GPU is needed: fills the caches

    products   our kernel of a product alone, and cuBLAS: large ones, and some of few rows
    networks   whole networks: from array to array, and the device's time
    overhead   a call that computes next to nothing, and where its time goes
    profile    the kernels of networks, each alone, beside what the cost model says

Each unit is a process of its own: all compile at the same time, then measure one after the other,
in turns with their peers. What fails is one line, and the rest goes on. Rows are printed as they
are measured, and appended to the file of `--json`. Peers that are not installed are one line, too.
The exit code is 1 where there is no GPU.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from importlib import import_module
from itertools import chain
from pathlib import Path

from benchmarks.devices.nvidia import product_race, products
from benchmarks.devices.nvidia.files import KNOWN, Choice, Files, write_work
from benchmarks.devices.nvidia.networks import compiled, units
from benchmarks.devices.nvidia.profile import overhead_unit, profile_unit
from benchmarks.devices.nvidia.runtime_peer import why_no_provider
from benchmarks.devices.nvidia.turns import first_line
from benchmarks.devices.nvidia.units import (
    Fact,
    Limits,
    Measure,
    Report,
    Unit,
    ask,
    run_units,
)
from glow.backends.cuda.driver import open_driver
from glow.lowering.target.named_targets import GPUS
from glow.runtime.caches.cache_folder import default_directory

KINDS = ("products", "networks", "overhead", "profile", "prepare")
DEFAULT_NETWORKS = ("resnet50", "resnet50_batch32", "bert_base")
PEERS = ("torch", "ort", "compile")
DRIVER_SECONDS = 60


def device_facts() -> Mapping[str, Fact]:
    """What the driver says of the first device."""
    driver = open_driver()
    if not driver.count():
        return {"problem": "the driver has no device"}
    facts = driver.facts(0)
    return {"name": facts.name, "gpu": facts.gpu, "driver": driver.version}


def print_state(report: Report) -> None:
    """Clocks, power and heat, as `nvidia-smi` says where there is one."""
    asked = "clocks.sm,clocks.max.sm,clocks.mem,power.draw,power.limit,temperature.gpu"
    command = ["nvidia-smi", f"--query-gpu={asked}", "--format=csv,noheader"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, timeout=10
        )
    except (OSError, subprocess.SubprocessError) as error:
        report.problem("nvidia-smi", first_line(error))
        return
    said = done.stdout.strip().partition("\n")[0]
    report.row("state", f"state ({asked}): {said}", said=said)


def target_of(gpu: str) -> str:
    """The newest target that a device runs."""
    own = f"{gpu}a"
    if own in GPUS:
        return own
    return max(name for name in GPUS if name <= gpu)


def import_peers(report: Report, peers: Sequence[str]) -> list[str]:
    """The peers that are there; others are a line. Children have what is imported here."""
    found: list[str] = []
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "4")
    try:
        torch = import_module("torch")
        version = getattr(torch, "__version__", "")
        report.row("peer", f"peer: torch {version}", name="torch", version=str(version))
        found += [peer for peer in peers if peer != "ort"]
    except Exception as error:
        if {"torch", "compile"} & set(peers):
            report.problem("peer torch", first_line(error))
    if "ort" in peers:
        reason = why_no_provider()
        if reason is None:
            found.append("ort")
        else:
            report.problem("peer ONNX Runtime", reason)
    try:
        import_module("tensorrt")
        report.problem("peer TensorRT", "is installed, and not measured here")
    except ImportError:
        report.problem("peer TensorRT", "is not installed")
    return found


def preparations(
    arguments: argparse.Namespace, choices: Sequence[Choice], has_device: bool
) -> list[Unit]:
    """Units that fill caches and measure nothing."""

    def network(files: Files, choice: Choice) -> Unit:
        def prepare(_: Report) -> Measure | None:
            files.write()
            if not has_device or "profile" in arguments.kinds:
                write_work(files, choice)
            if has_device:
                compiled(files, choice)
            return None

        return Unit(f"prepare {choice.name}", prepare)

    def product(case: products.Case) -> Unit:
        def prepare(_: Report) -> None:
            products.warm(case)

        return Unit(f"prepare {case.name} {case.ours}", prepare)

    made = [network(Files(arguments.folder, c.network), c) for c in choices]
    if not has_device:
        made += [product(case) for case in products.cases()]
    return made


def measurements(
    arguments: argparse.Namespace, choices: Sequence[Choice], gpu: str, peers: list[str]
) -> list[Unit]:
    """The units of what the command line names, in its order."""
    found: list[Unit] = []
    files = {choice: Files(arguments.folder, choice.network) for choice in choices}
    for kind in dict.fromkeys(arguments.kinds):
        if kind == "products":
            found += product_race.units("torch" in peers)
        elif kind == "networks":
            each = (units(files[choice], choice, peers) for choice in choices)
            # Those that take long to prepare are last.
            found += sorted(chain(*each), key=lambda unit: "torch.compile" in unit.name)
        elif kind == "overhead":
            found.append(overhead_unit(target_of(gpu)))
        elif kind == "profile":
            found += [profile_unit(files[choice], choice) for choice in choices]
    return found


def parsed() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.devices.nvidia",
        description=__doc__.partition("\n")[0] if __doc__ else None,
    )
    parser.add_argument("kinds", nargs="*", choices=(*KINDS, []), metavar="KIND")
    parser.add_argument(
        "--networks", nargs="+", default=DEFAULT_NETWORKS, choices=KNOWN, metavar="NAME"
    )
    parser.add_argument(
        "--precision", nargs="+", default=("f32", "bf16"), choices=("f32", "bf16")
    )
    parser.add_argument("--peers", nargs="*", default=PEERS, choices=PEERS)
    parser.add_argument("--gpu", help="the target of networks, by default the device's")
    parser.add_argument("--json", type=Path, help="a file to append rows to")
    parser.add_argument("--seconds", type=float, default=300.0, help="for all of it")
    parser.add_argument(
        "--prepare-seconds", type=float, default=75.0, help="for a unit"
    )
    parser.add_argument(
        "--measure-seconds", type=float, default=20.0, help="for a unit"
    )
    parser.add_argument("--at-once", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--folder", type=Path, default=default_directory() / "nvidia")
    found = parser.parse_args()
    found.kinds = found.kinds or list(KINDS[:3])
    return found


def main() -> int:
    """Measure what the command line names."""
    started, arguments = time.perf_counter(), parsed()
    report = Report(arguments.json)
    is_preparing = "prepare" in arguments.kinds
    facts: Mapping[str, Fact] = {}
    if not is_preparing:
        facts = ask(device_facts, DRIVER_SECONDS)
    if "problem" in facts:
        print(f"nothing is measured: {facts['problem']}")
        return 1
    gpu = str(facts.get("gpu", "sm_90"))
    target = arguments.gpu or target_of(gpu)
    choices = [
        Choice(network, precision, target)
        for network in arguments.networks
        for precision in arguments.precision
    ]
    limits = Limits(
        started + arguments.seconds,
        arguments.prepare_seconds,
        arguments.measure_seconds,
        arguments.at_once,
    )
    if is_preparing:
        run_units(preparations(arguments, choices, False), report, limits)
        print(f"prepared in {time.perf_counter() - started:.0f} s")
        return 0
    text = f"device: {facts['name']}, {gpu}, driver of CUDA {facts['driver']}"
    report.row("device", text, **facts)
    print_state(report)
    peers = import_peers(report, arguments.peers)
    if {"networks", "profile"} & set(arguments.kinds):
        run_units(preparations(arguments, choices, True), report, limits)
        passed = time.perf_counter() - started
        report.row("prepared", f"networks are compiled after {passed:.0f} s")
    run_units(measurements(arguments, choices, gpu, peers), report, limits)
    print_state(report)
    report.row("end", f"done after {time.perf_counter() - started:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
