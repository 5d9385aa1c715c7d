"""Objects that belong to the runtime, not to a network: made once for a machine."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from glow.runtime.caches.machine import machine
from glow.runtime.caches.object_cache import ObjectCache, versions
from glow.runtime.linking.support_code import support_code

if TYPE_CHECKING:
    from glow.lowering.target.target import Target


def runtime_object(name: str, code: Callable[[Target], str]) -> bytes:
    """The object of the LLVM IR text that `code` gives for this machine.

    LLVM is loaded only where the cache does not have it.
    """
    content = "\n".join([name, versions(), machine()])
    key = hashlib.sha256(content.encode()).hexdigest()
    objects = ObjectCache()
    entry = objects.load(key)
    if entry is not None:
        return entry[0]
    from glow.lowering.target.target import host_target
    from glow.runtime.native_code import compile_object, release_llvm

    image = compile_object(code(host_target()), host_target())
    release_llvm()
    objects.store(key, [image])
    return image


@cache
def support_object() -> bytes:
    """The object of the functions that conversions call."""
    return runtime_object("support", lambda _: support_code())
