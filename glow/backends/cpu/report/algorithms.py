"""The methods of computing sums of products, and the errors to expect of each.

The one table: `docs/numerics.md` shows it, the log of kernels names its rows. Errors are the
largest of a result, relative to the largest result, of normal random weights and inputs in f32.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

WIDE_CHANNELS = 256
"""Sums of more channels than these have the larger bound."""


@dataclass(frozen=True)
class Algorithm:
    """A method; `bound` and `wide_bound` are what the tests of the kernels hold it to."""

    name: str
    multiplications: float
    """Of those of direct sums."""
    measured: float
    """With 256 channels."""
    bound: float
    wide_bound: float
    """With more, 512 or 768."""

    def expected_error(self, channels: int) -> float:
        """The bound for sums over so many channels."""
        return self.bound if channels <= WIDE_CHANNELS else self.wide_bound


def _winograd(
    tile: int, kernel: int, measured: float, bound: float, wide: float
) -> Algorithm:
    patch = tile + kernel - 1
    name = f"Winograd F({tile} x {tile}, {kernel} x {kernel})"
    saved = round(patch**2 / (tile * kernel) ** 2, 2)
    return Algorithm(name, saved, measured, bound, wide)


def _winograd_line(
    tile: int, kernel: int, measured: float, bound: float, wide: float
) -> Algorithm:
    saved = round((tile + kernel - 1) / (tile * kernel), 2)
    return Algorithm(f"Winograd F({tile}, {kernel})", saved, measured, bound, wide)


DIRECT = Algorithm("direct sums", 1, 1.5e-6, 4e-6, 4e-6)
WINOGRAD = {
    (2, 3): _winograd(2, 3, 6e-7, 1e-6, 2e-6),
    (4, 3): _winograd(4, 3, 4e-6, 5e-6, 1e-5),
    (3, 4): _winograd(3, 4, 2e-6, 5e-6, 1e-5),
    (2, 5): _winograd(2, 5, 2e-6, 5e-6, 1e-5),
    (6, 3): _winograd(6, 3, 2e-5, 4e-5, 1e-4),
    (4, 5): _winograd(4, 5, 1.3e-5, 4e-5, 1e-4),
}
"""By the sides of the output tile and of the kernel."""
WINOGRAD_LINES = {
    (patch - kernel + 1, kernel): _winograd_line(patch - kernel + 1, kernel, *errors)
    for patch, errors in (
        (4, (7e-7, 2e-6, 4e-6)),
        (6, (1.5e-6, 4e-6, 6e-6)),
        (8, (4e-6, 1e-5, 1.5e-5)),
    )
    for kernel in (2, 3, 4, 5, 6, 7)
    if patch > kernel
}
"""Those of one axis, by the sizes of output tile and kernel; errors go with the patch."""
STRASSEN = {
    1: Algorithm("one level of Strassen", 0.875, 7e-7, 5e-6, 5e-6),
    2: Algorithm("two levels of Strassen", 0.766, 1e-6, 5e-6, 8e-6),
}
HALF_WEIGHTS = Algorithm("weights stored as bf16", 1, 1.7e-3, 1e-2, 1e-2)

ALGORITHMS = (
    DIRECT,
    *WINOGRAD.values(),
    *(WINOGRAD_LINES[tile, 3] for tile in (2, 4, 6)),
    *STRASSEN.values(),
    HALF_WEIGHTS,
)


def table() -> Iterator[str]:
    """The lines of the table in `docs/numerics.md`."""
    yield (
        "| method | multiplications | measured, 256 channels | bound in the tests "
        "| with more channels |"
    )
    yield "|---|---|---|---|---|"
    for row in ALGORITHMS:
        errors = map(_number, (row.measured, row.bound, row.wide_bound))
        yield f"| {row.name} | {row.multiplications:g} | {' | '.join(errors)} |"


def _number(error: float) -> str:
    mantissa, exponent = f"{error:.1e}".split("e")
    return f"{float(mantissa):g}e{int(exponent)}"
