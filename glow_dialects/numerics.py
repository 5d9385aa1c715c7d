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

from glow.dialects.errors import GlowError

NUMERICS = ("exact", "default", "fast")


def check_numerics(name: str) -> str:
    """The name; raises GlowError unless it is one of `NUMERICS`."""
    if name not in NUMERICS:
        raise GlowError(
            f"unknown numerics '{name}'", hint=f"one of {', '.join(NUMERICS)}"
        )
    return name
