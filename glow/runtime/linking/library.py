"""Linked native code: `Library`, by our linker or by LLVM's for what ours does not know."""

from __future__ import annotations

import contextlib
import ctypes
import platform
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Protocol

from glow.dialects.errors import GlowError
from glow.lowering.target.tile_permission import has_tiles
from glow.runtime.caches.runtime_objects import support_object
from glow.runtime.linking.elf import UnsupportedObjectError
from glow.runtime.linking.image import Image
from glow.runtime.linking.support_code import needs_support

LINUX_LIBRARIES = ("libm.so.6", "libgcc_s.so.1")
"""Where generated code finds what the process itself does not have."""


class Linked(Protocol):
    """Native code with addresses."""

    def address(self, name: str) -> int:
        """The address of a function."""
        ...


class Library:
    """Linked native code; lives as long as this object does.

    `symbols` are the functions whose addresses are wanted, `imports` addresses for
    names that the objects leave open; the C and math libraries are found anyway.
    """

    def __init__(
        self,
        objects: Sequence[bytes],
        symbols: Sequence[str],
        imports: Mapping[str, int] | None = None,
    ):
        if any(needs_support(image) for image in objects):
            objects = [*objects, support_object()]
        self._linked = link(objects, symbols, imports or {})
        self._symbols = {name: self._linked.address(name) for name in symbols}

    def address(self, name: str) -> int:
        """Returns the address of an exported function."""
        return self._symbols[name]


def link(
    objects: Sequence[bytes], symbols: Sequence[str], imports: Mapping[str, int]
) -> Linked:
    """Linked objects; raises GlowError where a symbol is missing."""
    has_tiles()  # Or what was compiled in another process would not run in this one.

    def resolve(name: str) -> int | None:
        return imports[name] if name in imports else process_address(name)

    if platform.system() == "Linux":
        try:
            return Image(objects, resolve)
        except (UnsupportedObjectError, OSError):
            pass
        except LookupError as error:
            missing = error.args[0]
            raise GlowError(
                f"native code cannot be linked: there is no function '{missing}'"
            ) from None
    from glow.runtime.native_code import LinkedLibrary

    return LinkedLibrary(objects, symbols, imports)


def process_address(name: str) -> int | None:
    """Returns the address of a C function of this process or of its C libraries."""
    for library in (None, *LINUX_LIBRARIES):
        with contextlib.suppress(OSError, AttributeError):
            function = _open(library)[name]
            return ctypes.cast(function, ctypes.c_void_p).value
    return None


@cache
def _open(library: str | None) -> ctypes.CDLL:
    return ctypes.CDLL(library)
