"""Whole networks: a call from arrays to arrays of the host, and the device's time of it.

A unit is one network in one precision beside one peer, so that a peer that fails takes no other
along. Ours is in all of them, for their quotients.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

import glow
from benchmarks.devices.nvidia.files import Choice, Files, loaded
from benchmarks.devices.nvidia.runtime_peer import RuntimeNetwork, why_no_provider
from benchmarks.devices.nvidia.torch_peer import TorchNetwork
from benchmarks.devices.nvidia.turns import Timer, alternate, first_line, timed_by_host
from benchmarks.devices.nvidia.units import Measure, Report, Unit
from glow.backends.cuda.cuda_function import CudaFunction
from glow.compiled_model import CompiledModel

Array = np.ndarray[Any, np.dtype[Any]]

TOLERANCES = {"f32": 2e-3, "bf16": 6e-2}
"""The largest error that is no mistake, relative to the largest result."""
TF32_TOLERANCE = 3e-2
"""The same of a peer that multiplies with TF32."""
DEVICE, CALL = "device", "call"


@dataclass
class Contest:
    """The ways of one network: timers and functions that give results, by name."""

    device: dict[str, Timer] = field(default_factory=dict[str, Timer])
    """The device's time of all kernels of a call."""
    calls: dict[str, Timer] = field(default_factory=dict[str, Timer])
    """From arrays of the host to arrays of the host."""
    results: dict[str, Callable[[], Sequence[Array]]] = field(
        default_factory=dict[str, Callable[[], Sequence[Array]]]
    )


def compiled(files: Files, choice: Choice) -> CompiledModel:
    """Our model on the first device."""
    model = glow.compile(
        files.model, backend="cuda", target=choice.gpu, precision=choice.precision
    )
    assert isinstance(model, CompiledModel)
    return model


def function_of(model: CompiledModel) -> CudaFunction:
    """Its program on the device."""
    assert isinstance(model.function, CudaFunction)
    return model.function


def error_of(found: Sequence[Array], wanted: Sequence[Array]) -> float:
    """The largest difference of any output, relative to its largest number."""
    errors = [
        np.abs(np.asarray(a, np.float64) - b).max() / max(np.abs(b).max(), 1e-30)
        for a, b in zip(found, wanted, strict=True)
        if b.size
    ]
    return float(max(errors))


def add_ours(
    contest: Contest, model: CompiledModel, inputs: Mapping[str, Array]
) -> None:
    """Our ways."""
    arrays = list(inputs.values())
    function = function_of(model)
    contest.results["ours"] = lambda: model.run_in_order(arrays)
    contest.calls["ours"] = timed_by_host(lambda: model.run_in_order(arrays))
    try:
        function.device_seconds(0)
        contest.device["ours"] = function.device_seconds
    except glow.GlowError:  # Steps that the host decides have no time of their own.
        pass


def add_torch(
    contest: Contest, files: Files, choice: Choice, inputs: Sequence[Array], tf32: bool
) -> None:
    """PyTorch's eager kernels as a CUDA graph."""
    name = name_of("torch eager", choice, tf32)
    made = TorchNetwork(loaded(files.model), inputs, choice.precision, tf32)
    contest.device[name], contest.calls[name] = (
        made.device_timer,
        timed_by_host(made.call),
    )
    contest.results[name] = made.call


def add_compiled(
    contest: Contest, files: Files, choice: Choice, inputs: Sequence[Array], tf32: bool
) -> None:
    """What `torch.compile` makes, as a CUDA graph."""
    name = name_of("torch.compile", choice, tf32)
    made = TorchNetwork(loaded(files.model), inputs, choice.precision, tf32, True)
    contest.device[name], contest.calls[name] = (
        made.device_timer,
        timed_by_host(made.call),
    )
    contest.results[name] = made.call


def name_of(peer: str, choice: Choice, tf32: bool) -> str:
    """A peer with how it multiplies."""
    if choice.precision != "f32":
        return f"{peer} {choice.precision}"
    return f"{peer} {'TF32' if tf32 else 'f32'}"


def add_runtime(
    contest: Contest,
    files: Files,
    inputs: Mapping[str, Array],
    results: Sequence[Array],
) -> None:
    """ONNX Runtime: arrays of the host, arrays on the GPU, and those as a CUDA graph."""
    plain = RuntimeNetwork(str(files.model), inputs, results)
    contest.calls["ORT TF32"] = timed_by_host(plain.call)
    contest.results["ORT TF32"] = plain.call
    contest.calls["ORT TF32, bound"] = timed_by_host(plain.bound)
    graph = RuntimeNetwork(str(files.model), inputs, results, is_graph=True)
    graph.bound()
    contest.calls["ORT TF32, bound, graph"] = timed_by_host(graph.bound)


@dataclass(frozen=True)
class Measured:
    """What was measured of one way: the device's time, or that of a call."""

    kind: str
    name: str
    seconds: float
    ours: float | None
    """Our seconds."""
    error: float | None


def measure_contest(
    report: Report, choice: Choice, contest: Contest, wanted: Sequence[Array]
) -> None:
    """Rows of all ways, the device's time first."""
    if "ours" in contest.results:
        try:
            contest.results["ours"]()  # The device's time is of the inputs of a call.
        except Exception as error:
            report.problem(f"{choice.name} ours", first_line(error))
            for ways in (contest.device, contest.calls, contest.results):
                ways.pop("ours", None)
    for kind, timers in ((DEVICE, contest.device), (CALL, contest.calls)):
        if not timers:
            continue
        times = alternate(timers)
        for name, words in times.errors.items():
            report.problem(f"{choice.name} {kind} {name}", words)
        ours = times.median("ours")
        for name in timers:
            seconds = times.median(name)
            if seconds is None:
                continue
            error = None
            if kind == DEVICE or name not in contest.device:
                error = checked(report, choice, contest, name, wanted)
            print_way(report, choice, Measured(kind, name, seconds, ours, error))


def checked(
    report: Report, choice: Choice, contest: Contest, name: str, wanted: Sequence[Array]
) -> float | None:
    """The error of a way's results, None where it has none to show."""
    if name not in contest.results:
        return None
    try:
        return error_of(contest.results[name](), wanted)
    except Exception as error:
        report.problem(f"{choice.name} {name}", first_line(error))
        return float("nan")


def print_way(report: Report, choice: Choice, way: Measured) -> None:
    """A row."""
    name, seconds, ours, error = way.name, way.seconds, way.ours, way.error
    text = f"{choice.name:28} {way.kind:7} {name:24} {1e3 * seconds:9.3f} ms"
    if name != "ours" and ours is not None:
        text += f"  ours takes {ours / seconds:5.2f} of it"
    tolerance = TF32_TOLERANCE if "TF32" in name else TOLERANCES[choice.precision]
    is_wrong = error is not None and not error <= tolerance
    if error is not None:
        text += f"  error {error:.1e}{' WRONG' * is_wrong}"
    report.row(
        "network",
        text,
        name=choice.name,
        measure=way.kind,
        way=name,
        seconds=seconds,
        ratio=None if ours is None else ours / seconds,
        error=error,
        is_wrong=is_wrong,
    )


def unit_of(
    files: Files, choice: Choice, peer: str, add: Callable[[Contest, Any, Any], None]
) -> Unit:
    """A unit: ours, and what `add(contest, inputs, results)` adds."""
    name = f"{choice.name} beside {peer}"

    def prepare(report: Report) -> Measure:
        files.write()
        inputs, wanted = files.read()
        contest = Contest()
        try:
            add_ours(contest, compiled(files, choice), inputs)
        except Exception as error:  # The peer is measured all the same.
            report.problem(f"{choice.name} ours", first_line(error))
        try:
            add(contest, inputs, wanted)
        except Exception as error:
            report.problem(name, first_line(error))
        return lambda report: measure_contest(report, choice, contest, wanted)

    return Unit(name, prepare)


def units(files: Files, choice: Choice, peers: Sequence[str]) -> list[Unit]:
    """Those of a network in one precision."""
    found: list[Unit] = []
    settings = (True, False) if choice.precision == "f32" else (True,)

    def torch(contest: Contest, inputs: Mapping[str, Array], _: object) -> None:
        for tf32 in settings:
            add_torch(contest, files, choice, list(inputs.values()), tf32)

    def torch_compile(contest: Contest, inputs: Mapping[str, Array], _: object) -> None:
        add_compiled(contest, files, choice, list(inputs.values()), tf32=True)

    def runtime(
        contest: Contest, inputs: Mapping[str, Array], results: Sequence[Array]
    ) -> None:
        add_runtime(contest, files, inputs, results)

    def nobody(*_: object) -> None:
        """Ours alone."""

    if "torch" in peers:
        found.append(unit_of(files, choice, "torch", cast("Any", torch)))
    if "ort" in peers and choice.precision == "f32" and why_no_provider() is None:
        found.append(unit_of(files, choice, "ort", cast("Any", runtime)))
    if not found:
        found.append(unit_of(files, choice, "nobody", nobody))
    if "compile" in peers:
        found.append(
            unit_of(files, choice, "torch.compile", cast("Any", torch_compile))
        )
    return found
