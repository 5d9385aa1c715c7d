"""Products: our kernel alone, as networks get it, beside cuBLAS by PyTorch.

Both read weights in rows of the depth, `y = x w^T`, and store what they read (int32 of bytes).
Times are of graphs of some launches, by events. Where operands would fit the L2, in which nothing
but a benchmark finds them, each launch reads another copy of the weights.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from benchmarks.devices.nvidia import products
from benchmarks.devices.nvidia.products import Array, Case, Chosen, assembled, chosen
from benchmarks.devices.nvidia.torch_peer import product_timer
from benchmarks.devices.nvidia.turns import Timer, Times, alternate, first_line
from benchmarks.devices.nvidia.units import Measure, Report, Unit
from glow.backends.cuda.cuda_function import Entry, load_kernel, open_device
from glow.backends.cuda.driver import CudaDevice
from glow.backends.cuda.tensor_map import arguments_of

L2_BYTES = 50e6
"""Of an H100."""
CHECKED_ROWS = 32


@dataclass
class Ours:
    """Our kernel on the device, with what it reads and writes."""

    device: CudaDevice
    entry: Entry
    places: Sequence[int]
    """Result, factor, bias."""
    weights: Sequence[int]
    launches: int
    graph: Any = field(init=False)

    def __post_init__(self) -> None:
        self.device.enter()
        self.graph = self.device.capture(self.body)

    def body(self) -> None:
        """Begins all launches of a graph."""
        made = self.entry.assembly
        result, x, bias = self.places
        for number in range(self.launches):
            weights = self.weights[number % len(self.weights)]
            places = [(p, 0) for p in (result, x, weights, bias)]
            arguments = arguments_of(self.device, places, made.maps)
            function, shared = self.entry.function, made.dynamic_bytes
            self.device.launch(function, made.grid, made.block, arguments, shared)

    def timer(self, runs: int) -> list[float]:
        """The seconds of a launch."""
        self.device.enter()
        found = self.device.seconds(lambda: self.device.replay(self.graph), runs)
        return [seconds / self.launches for seconds in found]


def uploaded(device: CudaDevice, array: Array) -> int:
    """The address of a copy of an array on the device."""
    address = device.allocate(max(array.nbytes, 1))
    device.upload(address, array)
    return address


def random(shape: tuple[int, int], dtype: Any, seed: int) -> Array:
    """Normal numbers, or all bytes, which repeat after a prime number of them."""
    generator = np.random.default_rng(seed)
    if np.dtype(dtype) == np.int8:
        drawn = generator.integers(-127, 128, 1_000_003).astype(np.int8)
    else:
        drawn = generator.standard_normal(1_000_003, np.float32).astype(dtype)
    return np.resize(drawn, shape)


def expected(x: Array, weights: Array) -> tuple[Array, Array]:
    """Some rows of the product, by number, and what they are, in f64."""
    step = max(1, x.shape[0] // CHECKED_ROWS)
    rows = np.array(range(x.shape[0] - 1, -1, -step))
    # Products of f32 and smaller numbers are exact in f64.
    return rows, x[rows].astype(np.float64) @ weights.astype(np.float64).T


def error_of(found: Array, wanted: Array) -> float:
    """The largest difference, relative to the largest result."""
    return float(np.abs(found.astype(np.float64) - wanted).max() / np.abs(wanted).max())


def copy_timer(device: CudaDevice) -> Timer:
    """The seconds of a copy of memory of the device."""
    source, target = (
        device.allocate(products.COPY_BYTES),
        device.allocate(products.COPY_BYTES),
    )

    def timer(runs: int) -> list[float]:
        device.enter()
        body = partial(device.begin_copy, target, source, products.COPY_BYTES)
        return device.seconds(body, runs)

    return timer


@dataclass
class Race:
    """The ways of a case on the device: a timer each, what the model says, and the results."""

    case: Case
    timers: dict[str, Timer] = field(default_factory=dict[str, Timer])
    models: dict[str, Chosen] = field(default_factory=dict[str, Chosen])
    results: dict[str, Callable[[], Array]] = field(
        default_factory=dict[str, Callable[[], Array]]
    )


@dataclass(frozen=True)
class Measured:
    """What was measured of one way."""

    name: str
    seconds: float
    error: float
    ratios: Mapping[str, float]
    """Its time by that of each peer."""
    rate_of_copy: float | None
    """The bytes that a copy reads and writes in a second, where those count."""


def prepared(case: Case, has_torch: bool, report: Report) -> Measure:
    """All of a case on the device."""
    x = random((case.m, case.k), case.dtype, 1)
    weights = random((case.n, case.k), case.dtype, 2)
    race = Race(case)
    try:
        add_ours(race, x, weights)
    except Exception as error:  # The peer is measured all the same.
        report.problem(f"{case.name} {case.ours}", first_line(error))
    for tf32 in case.peers if has_torch else ():
        name = "cuBLAS TF32" if tf32 else "cuBLAS"
        try:
            timer, result = product_timer(
                x, weights, case.launches, case.weight_copies, tf32
            )
            race.timers[name], race.results[name] = timer, result
        except Exception as error:
            report.problem(f"{case.name} {name}", first_line(error))
    wanted = expected(x, weights)

    def measure(report: Report) -> None:
        times = alternate(race.timers)
        print_race(report, race, times, wanted)

    return measure


def add_ours(race: Race, x: Array, weights: Array) -> None:
    """Our kernel, loaded."""
    case = race.case
    found = chosen(case)
    device = open_device(0, case.gpu)
    entry = load_kernel(device, found.request.name, assembled(found, case.gpu))
    stored = np.int32 if case.format == "i8" else case.dtype
    bias = np.zeros(case.n, np.int32 if case.format == "i8" else np.float32)
    result = np.zeros((case.m, case.n), stored)
    result.view(np.uint8)[...] = 0xFF  # NaN, or -1: what is not written shows.
    copies = [uploaded(device, weights) for _ in range(case.weight_copies)]
    places = [uploaded(device, array) for array in (result, x, bias)]
    ours = Ours(device, entry, places, copies, case.launches)
    if case.is_skinny and "copy" not in race.timers:
        race.timers["copy"] = copy_timer(device)

    def downloaded() -> Array:
        device.enter()
        device.download(places[0], result)
        return result

    race.timers[case.ours], race.models[case.ours] = ours.timer, found
    race.results[case.ours] = downloaded


def print_race(
    report: Report, race: Race, times: Times, wanted: tuple[Array, Array]
) -> None:
    """A row for each way."""
    case = race.case
    for name, words in times.errors.items():
        report.problem(f"{case.name} {name}", words)
    peers = [n for n in times.seconds if n.startswith("cuBLAS")]
    rate_of_copy = None
    if (copied := times.median("copy")) is not None:
        rate_of_copy = 2 * products.COPY_BYTES / copied
        text = f"copy on the device: {rate_of_copy / 1e9:.0f} GB/s read and written"
        report.row("copy", text, bytes_per_second=rate_of_copy)
    for name in race.results:
        seconds = times.median(name)
        if seconds is None:
            continue
        try:
            rows, values = wanted
            error = error_of(race.results[name]()[rows], values)
        except Exception as problem:
            report.problem(f"{case.name} {name}", first_line(problem))
            error = float("nan")
        ratios = {
            peer: seconds / other
            for peer in peers
            if peer != name and (other := times.median(peer)) is not None
        }
        print_way(report, race, Measured(name, seconds, error, ratios, rate_of_copy))


def print_way(report: Report, race: Race, way: Measured) -> None:
    """A row: time, rate, quotients of the peers' times, error, what the model says."""
    case, model = race.case, race.models.get(way.name)
    seconds, error, rate_of_copy = way.seconds, way.error, way.rate_of_copy
    flops, rate = 2.0 * case.m * case.n * case.k / seconds, case.bytes / seconds
    words = f"{flops / 1e12:7.1f} TFLOP/s"
    if case.is_skinny:
        words = f"{rate / 1e9:7.0f} GB/s"
        if rate_of_copy is not None:
            words += f" ({rate / rate_of_copy:4.2f} of a copy's)"
    is_wrong = not error <= case.tolerance
    text = f"{case.name:28} {way.name:20} {1e6 * seconds:9.1f} us {words}"
    text += "".join(f"  {ratio:5.2f} x {peer}" for peer, ratio in way.ratios.items())
    text += f"  error {error:.1e}{' WRONG' * is_wrong}"
    if model is not None:
        text += f"  model {1e6 * model.seconds:.1f} us ({model.tile})"
    if case.bytes < L2_BYTES and case.weight_copies == 1:
        text += "  operands fit the L2"
    report.row(
        "product",
        text,
        name=case.name,
        way=way.name,
        seconds=seconds,
        flops_per_second=flops,
        bytes_per_second=rate,
        error=error,
        is_wrong=is_wrong,
        ratios=[list(item) for item in way.ratios.items()],
        model_seconds=model.seconds if model else None,
        tile=model.tile if model else None,
    )


def units(has_torch: bool) -> list[Unit]:
    """A unit a case."""
    return [
        Unit(f"{case.name} {case.ours}", partial(prepared, case, has_torch))
        for case in products.cases()
    ]
