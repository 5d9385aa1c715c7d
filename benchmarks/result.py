"""What `compare.py` measured of one network, and whether what it computed is right."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import isnan
from statistics import quantiles
from typing import Any

import numpy as np

from benchmarks.peers.client import Array, ServerError
from benchmarks.peers.contestants import RIVALS, ROUNDED_NETWORKS, is_ours

PEER_BUDGET = 1e-5
"""What a peer's own order of summation may cost it (`docs/numerics.md`)."""
BUDGETS = {"glow": 1e-4, "glow exact": 1e-5}
"""What each of our columns may be off in f32: `docs/numerics.md`."""
COARSE_BUDGETS = {"bf16": 0.05, "int8": 0.2}
"""Between two runtimes that round to few bits, each in its own places: a sum on the border of
two steps falls on either side, and what follows amplifies it."""

Errors = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class Result:
    """One row of the table: a network at a number of threads, on cores with or without one L3."""

    network: str
    threads: int
    state: str | None
    """`shared` or `split`; None for one thread, and where neither held through a round."""
    cross_core_nanoseconds: float | None
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
    optimizer_share: float
    """The part of a cold compilation that all passes take."""
    errors: Errors
    """The largest difference of each of our columns from each peer, over that peer's largest
    output; NaN where a result is no number."""
    versions: dict[str, str]
    precision: str = "f32"
    """What products multiply: `f32` or `bf16`."""

    @property
    def threads_and_state(self) -> str:
        """Returns how it ran, for people to read."""
        return f"{self.threads} {self.state}" if self.state else str(self.threads)

    @property
    def error(self) -> float:
        """Returns the largest difference of `glow` from any peer, NaN where one is."""
        return float(np.max(list(self.errors["glow"].values())))

    @property
    def ratio(self) -> float:
        """The best rival's time over ours: above one, we are faster."""
        return self.ratio_of("glow")

    def ratio_of(self, ours: str) -> float:
        """Returns the best rival's time over that of `ours`."""
        peers = {n: time for n, time in self.milliseconds.items() if not is_ours(n)}
        rivals = [time for name, time in peers.items() if name in RIVALS]
        return min(rivals or peers.values()) / self.milliseconds[ours]

    def faults(self) -> Iterator[str]:
        """Yield a line for each result of ours that is wrong or no number."""
        for ours, errors in self.errors.items():
            for peer, error in errors.items():
                most = self._budget(ours)
                if isnan(error):
                    yield f"{self.network}: {ours} or {peer} computed NaN or infinity"
                elif error > most:
                    yield (
                        f"{self.network}: {ours} differs from {peer} by {error:.1e} of "
                        f"the largest output, where {most:.1e} is the most"
                    )

    def _budget(self, ours: str) -> float:
        """Returns the largest difference from a peer that may be."""
        if self.network in ROUNDED_NETWORKS:
            return COARSE_BUDGETS["int8"]
        if self.precision in COARSE_BUDGETS:
            return COARSE_BUDGETS[self.precision]
        return BUDGETS[ours] + PEER_BUDGET

    def to_json(self) -> dict[str, Any]:
        """Returns all fields, and the ratio for those who read the file."""
        return {**asdict(self), "ratio": self.ratio}

    @staticmethod
    def from_json(fields: Mapping[str, Any]) -> "Result":
        """Returns what `to_json` was made of."""
        return Result(**{name: v for name, v in fields.items() if name != "ratio"})


def relative_spread(measured: Sequence[float]) -> float:
    """Returns half the distance between the quartiles, over the median."""
    if len(measured) < 2:
        return 0.0
    low, middle, high = quantiles(measured, n=4)
    return (high - low) / 2 / middle


def largest_error(ours: Sequence[Array], theirs: Sequence[Array]) -> float:
    """Returns the largest difference over the largest expected value, of any output.

    NaN where a result is NaN. Raises ServerError where shapes differ, and where only zeros are
    expected: they would compare equal whatever was computed.
    """
    shapes = [[array.shape for array in outputs] for outputs in (ours, theirs)]
    if shapes[0] != shapes[1]:
        raise ServerError(f"results have shapes {shapes[0]} and {shapes[1]}")
    if not all(np.any(their) for their in theirs):
        raise ServerError("a result is zero everywhere: nothing to compare")
    with np.errstate(invalid="ignore"):  # infinity less infinity: NaN, as is said above
        errors = [
            np.abs(our - their).max() / np.abs(their).max()
            for our, their in zip(ours, theirs, strict=True)
        ]
    return float(np.max(errors))
