"""Bundles for tests: networks and targets, built once a process, and their native code.

`GLOW_ALL_TARGETS=1` (`make bundles`) takes all networks and targets; without it there are few.
"""

import ctypes
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import onnx

from benchmarks.networks import embedded
from glow.bundles.build import build_bundle
from glow.bundles.bundle import Bundle, BundleSettings
from glow.bundles.loader import process_address
from glow.bundles.writer import bundle_files, write_files
from glow.compiler import load
from glow.lowering.target.target import Target, host_target
from glow.options import CompileOptions
from glow.runtime.linking.image import Image

ALL = bool(os.environ.get("GLOW_ALL_TARGETS"))
NETWORKS = tuple(embedded.NETWORKS) if ALL else ("digits",)
NATIVE_TARGETS = [
    name
    for name in ("avx512", "avx2", "x86-64")
    if Target.from_string(name).runs_on(host_target())
]

MODELS = {
    **embedded.NETWORKS,
    "mlp": lambda: onnx.load(embedded.DIGITS.with_name("mlp.onnx")),
}
"""The last for what does not depend on the network: it compiles fastest."""

GUARD = 64
FILL = 0xA5


@cache
def profile(network: str):
    """What a network is quantized by."""
    return embedded.profile_of(MODELS[network]())


@cache
def bundle_of(
    network: str = "digits",
    target: str = "host",
    quantized: bool = False,
    **settings: object,
) -> Bundle:
    """The bundle of a network."""
    options = CompileOptions(
        target=target, quantize=profile(network) if quantized else False
    )
    module = load(MODELS[network](), options)
    chosen = BundleSettings(**{"name": network, **settings})
    return build_bundle({network: module}, options, chosen)


def written(bundle: Bundle, folder: Path) -> Path:
    """The folder, with the files of a bundle."""
    write_files(bundle_files(bundle), folder)
    return folder


@dataclass
class Guarded:
    """A region between guard bytes, at an address that is aligned (or off by some bytes)."""

    space: np.ndarray
    start: int
    size: int

    @staticmethod
    def of(size: int, alignment: int, content: np.ndarray | None = None, off: int = 0):
        """A region of zeros, or with a content."""
        space = np.full(size + 2 * GUARD + alignment, FILL, np.uint8)
        start = GUARD + -(space.ctypes.data + GUARD) % alignment + off
        space[start : start + size] = 0 if content is None else content
        return Guarded(space, start, size)

    @property
    def content(self) -> np.ndarray:
        return self.space[self.start : self.start + self.size]

    @property
    def address(self) -> int:
        return self.space.ctypes.data + self.start

    def is_whole(self) -> bool:
        """Whether nobody has changed the guard bytes."""
        before, behind = self.space[: self.start], self.space[self.start + self.size :]
        return bool((before == FILL).all() and (behind == FILL).all())


class Native:
    """The object of a bundle in this process."""

    def __init__(self, bundle: Bundle, imports: dict[str, int] | None = None) -> None:
        self.bundle = bundle
        known = imports or {}
        self.image = Image(
            [bundle.object_code], lambda name: known.get(name) or process_address(name)
        )

    def function(self, name: str, *arguments: object):
        kind = ctypes.CFUNCTYPE(ctypes.c_int, *arguments)
        return kind(self.image.address(name))

    def regions(self) -> list[Guarded]:
        """New regions for the constants, with the weights, the mutables and activations."""
        bundle = self.bundle
        return [
            Guarded.of(bundle.constants.nbytes, bundle.alignment, bundle.constants),
            Guarded.of(bundle.mutables_bytes, bundle.alignment),
            Guarded.of(bundle.activations_bytes, bundle.alignment),
        ]

    def call(self, regions: list[Guarded], number: int = 0) -> int:
        """What the entry of a network returns."""
        entry = self.bundle.entry(self.bundle.functions[number])
        call = self.function(entry, *[ctypes.c_void_p] * 3)
        return call(*(region.address for region in regions))


def put(place, mutables: np.ndarray, array: np.ndarray) -> None:
    """Write an array to its place."""
    mutables[place.offset : place.offset + place.nbytes] = np.frombuffer(
        array.tobytes(), np.uint8
    )


def get(place, mutables: np.ndarray) -> np.ndarray:
    """The array at a place."""
    part = mutables[place.offset : place.offset + place.nbytes]
    return part.copy().view(place.dtype).reshape(place.shape)
