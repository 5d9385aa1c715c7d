"""A bundle: everything that its files are written from."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from glow.backends.bundle_program import BundleFunction, Bytes, Place
from glow.dialects.errors import GlowError
from glow.lowering.target.target import Target

Array = npt.NDArray[np.generic]

APIS = ("static", "dynamic")
OPTIMIZATIONS = ("speed", "size")
WEIGHTS = ("file", "linked")

OK, BAD_WEIGHTS, UNALIGNED, BAD_INDEX = range(4)
ERRORS = {
    "OK": (OK, "the outputs are written"),
    "BAD_WEIGHTS": (BAD_WEIGHTS, "not the weights of this code: size or CRC-32 differ"),
    "UNALIGNED": (UNALIGNED, "a region does not start at a multiple of the alignment"),
    "BAD_INDEX": (BAD_INDEX, "an index among the inputs is outside of its axis"),
}
"""What an entry returns, by the name behind the bundle's: the number, and why."""


@dataclass(frozen=True)
class BundleSettings:
    """How a bundle is made, beside the options of the compilation."""

    name: str
    """What all symbols begin with: a C identifier."""
    weights: str = "file"
    """`file`, or `linked`: an object in the section `.rodata.NAME`."""
    api: str = "static"
    """`static`: macros; `dynamic`: Glow's `BundleConfig` with a table of symbols."""
    optimize: str = "speed"
    pic: bool = False
    """Whether the code runs wherever it is loaded."""
    threads: bool = False
    """Whether there is an entry for a part of the work."""
    shared: bool = False
    """Whether there is a shared library, too."""
    debug_callbacks: bool = False
    """Whether the code calls functions of the user around each instruction."""

    def __post_init__(self) -> None:
        if self.debug_callbacks and self.threads:
            raise GlowError(
                "--debug-callbacks and --threads exclude each other",
                hint="calls are told by one thread",
            )


@dataclass(frozen=True)
class Quantization:
    """What stored integers stand for: `scale * (stored - zero_point)`."""

    scale: float
    zero_point: int


@dataclass(frozen=True)
class Sample:
    """Inputs of a network, and what it gives for them."""

    inputs: Sequence[Array]
    outputs: Sequence[Array]


@dataclass(frozen=True)
class Bundle:
    """The compiled networks; see `BundleProgram` for their functions."""

    settings: BundleSettings
    target: Target
    target_name: str
    functions: Sequence[BundleFunction]
    """One an entry; the entry of the only one has the bundle's name."""
    object_code: bytes
    """A relocatable object; the linked module of WebAssembly."""
    constants: Bytes
    alignment: int
    samples: Sequence[Sample] = ()
    """One for each function."""
    kernel_bytes: Mapping[str, int] = field(default_factory=dict[str, int])
    """The bytes of each kernel's code."""
    stack_bytes: int | None = None
    """The most that a call takes of the stack; None where that is unknown."""
    library: bytes | None = None
    """The shared library, if one is wanted."""
    quantization: Mapping[tuple[str, str], Quantization] = field(
        default_factory=dict[tuple[str, str], Quantization]
    )
    """By function and input or output, of those that hold quantized numbers."""

    @property
    def name(self) -> str:
        """What all symbols begin with."""
        return self.settings.name

    @property
    def object_file(self) -> str:
        """The file of the code."""
        return f"{self.name}.{'wasm' if self.target.is_wasm else 'o'}"

    @property
    def checksum(self) -> int:
        """The CRC-32 of the constants."""
        return zlib.crc32(self.constants.data)

    @property
    def activations_bytes(self) -> int:
        """Of the arena, which all networks share."""
        return max(function.activations_bytes for function in self.functions)

    @property
    def mutables_bytes(self) -> int:
        """Of the largest inputs and outputs of a network."""
        return max(function.mutables_bytes for function in self.functions)

    def entry(self, function: BundleFunction) -> str:
        """The symbol of a network's entry."""
        return entry_name(
            self.name, [each.name for each in self.functions], function.name
        )


def entry_name(bundle: str, functions: Sequence[str], function: str) -> str:
    """The symbol of an entry: the bundle's name, and the network's if there are several."""
    return bundle if len(functions) == 1 else f"{bundle}_{function}"


def places(function: BundleFunction) -> Sequence[Place]:
    """Inputs, then outputs, then variables."""
    return [*function.inputs, *function.outputs, *function.variables]
