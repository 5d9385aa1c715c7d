"""Which objects call the functions of `support.ll`, for conversions without an instruction."""

from __future__ import annotations

from glow.runtime.native_text import native_text

SUPPORT_SYMBOLS = ("__truncsfbf2", "__truncdfbf2")


def support_code() -> str:
    """The LLVM IR of the support functions."""
    return native_text("linking", "support")


def needs_support(image: bytes) -> bool:
    """Whether an object calls one of the support functions."""
    return any(symbol.encode() in image for symbol in SUPPORT_SYMBOLS)
