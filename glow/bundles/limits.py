"""Whether a bundle fits into a machine: `--flash` and `--ram`."""

from __future__ import annotations

from collections.abc import Sequence

from glow.backends.bundle_program import Largest
from glow.bundles.bundle import Bundle, places
from glow.bundles.wasm.object_file import symbols_of
from glow.dialects.errors import GlowError


class LimitError(GlowError):
    """More bytes than there are."""


def check_limits(bundle: Bundle, flash: int | None, ram: int | None) -> None:
    """Raise LimitError for more bytes than there are, naming what takes most of them.

    Without a limit that of the target holds, if it has one.
    """
    functions, target = bundle.functions, bundle.target
    flash = target.weight_budget if flash is None else flash
    ram = target.ram_budget if ram is None else ram
    if flash is not None:
        code = loaded_bytes(bundle.object_code)
        if bundle.settings.weights == "file":
            code += bundle.constants.nbytes
        weight = _most([function.largest_weight for function in functions])
        _check("flash", code, flash, f"weight is '{weight.name}'", weight)
    if ram is not None:
        stack = bundle.stack_bytes or 0
        used = bundle.activations_bytes + bundle.mutables_bytes + stack
        buffers = [function.largest_buffer for function in functions]
        io = [
            Largest(place.name, place.nbytes)
            for function in functions
            for place in places(function)
        ]
        buffer = _most([*buffers, *io])
        _check("ram", used, ram, f"buffer is of '{buffer.name}'", buffer)


def _check(region: str, used: int, limit: int, what: str, largest: Largest) -> None:
    if used > limit:
        raise LimitError(
            f"the network takes {used} bytes of {region}, and there are {limit}: the "
            f"largest {what} with {largest.nbytes}"
        )


def _most(parts: Sequence[Largest]) -> Largest:
    return max(parts, key=lambda part: part.nbytes)


def loaded_bytes(code: bytes) -> int:
    """The bytes of code and constants of an object."""
    return symbols_of(code).loaded_bytes()
