"""How far a result may be from directly computed sums: the user's choice.

exact    direct sums only
default  Winograd's convolutions and one level of Strassen's products where they pay:
         errors grow a few times, and stay below 1e-4 of the largest output; a few groups
         of a convolution may be computed as one with zeros between them, so that an
         infinity in one group gives NaN in others
fast     larger tiles of Winograd's and two levels of Strassen's too, and weights stored as
         bf16 where reading them takes the time: errors stay below 1e-2 of the largest output

`docs/numerics.md` has the expected errors of each method.
"""

from __future__ import annotations

import math

from glow.dialects.errors import GlowError

NUMERICS = ("exact", "default", "fast")


WEIGHT_GROWTH = 1.0
"""The memory that transformed weights may take in addition, over that of all weights."""

FREE_BYTES = 64 << 20
"""What they may take anyway: about what a process has loaded before any network."""

SCARCE_FREE_BYTES = 8 << 20
"""The same where memory is scarce: in files that go to other machines, on small devices."""


def check_numerics(name: str) -> str:
    """The name; raises GlowError unless it is one of `NUMERICS`."""
    if name not in NUMERICS:
        raise GlowError(
            f"unknown numerics '{name}'", hint=f"one of {', '.join(NUMERICS)}"
        )
    return name


def check_weight_growth(growth: object) -> float:
    """The growth of weights, if it is a finite number and at least 0."""
    if isinstance(growth, bool) or not isinstance(growth, int | float):
        raise GlowError(f"weight_growth must be a number, not {growth!r}")
    if growth < 0:
        raise GlowError(f"weight_growth must not be negative: {growth}")
    if not math.isfinite(growth):
        raise GlowError(f"weight_growth must be finite, not {growth}")
    return float(growth)
