"""The weights of a bundle as files: the bytes, and the same as text that C can include."""

from __future__ import annotations

from glow.backends.bundle_program import Bytes

BYTES_A_LINE = 20


def weights_text(constants: Bytes) -> str:
    """The bytes as Glow writes them, 20 on a line: `0X3F, 0X80, ...,`."""
    spelled = [f"0X{byte:02X}," for byte in range(256)]
    content = constants.tobytes()
    lines = (
        " ".join(map(spelled.__getitem__, content[start : start + BYTES_A_LINE]))
        for start in range(0, len(content), BYTES_A_LINE)
    )
    return "\n".join(lines) + "\n"
