"""`glow.load`: runs a bundle of this machine from Python, with NumPy and ctypes alone."""

from __future__ import annotations

import ctypes
import json
import os
import platform
import subprocess
import tempfile
import threading
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol, cast

import numpy as np
import numpy.typing as npt

from glow.dialects.errors import GlowError
from glow.runtime.linking.elf import UnsupportedObjectError
from glow.runtime.linking.image import Image
from glow.tensor_info import TensorInfo

Array = npt.NDArray[np.generic]
Bytes = npt.NDArray[np.uint8]

FORMAT = 1
"""Of the manifests that are read."""
ERRORS = {
    1: "the weights are not those of the code",
    2: "a region is not aligned",
    3: "an index among the inputs is outside of its axis",
}
LINK_SECONDS = 60
ARCHITECTURES = {"amd64": "x86_64", "arm64": "aarch64"}
"""Of machines that the system calls otherwise than LLVM."""


class Code(Protocol):
    """Code of a bundle that can be called."""

    def call(
        self, symbol: str, constants: Bytes, mutables: Bytes, activations: Bytes
    ) -> int:
        """What an entry returns."""
        ...


class NativeCode:
    """The object of a bundle, linked into this process, or its shared library."""

    def __init__(self, folder: Path, name: str, *, is_shared: bool) -> None:
        self._linked = _linked(folder, name, is_shared=is_shared)

    def call(
        self, symbol: str, constants: Bytes, mutables: Bytes, activations: Bytes
    ) -> int:
        """What an entry returns."""
        pointers = [each.ctypes.data for each in (constants, mutables, activations)]
        kind = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 3)
        return kind(self._linked.address(symbol))(*pointers)


class SharedLibrary:
    """A library that the system has loaded."""

    def __init__(self, path: Path) -> None:
        self._library = ctypes.CDLL(os.fspath(path.resolve()))

    def address(self, name: str) -> int:
        """The address of a function."""
        return ctypes.cast(self._library[name], ctypes.c_void_p).value or 0


def _linked(folder: Path, name: str, *, is_shared: bool) -> SharedLibrary | Image:
    """What has the functions of a bundle; raises GlowError where it cannot be linked.

    Our linker knows x86-64; elsewhere it is the system's.
    """
    try:
        if is_shared:
            return SharedLibrary(folder / f"{name}.so")
        code = folder / f"{name}.o"
        try:
            return Image([code.read_bytes()], process_address)
        except UnsupportedObjectError:
            return _linked_by_compiler(code)
    except (LookupError, OSError, subprocess.SubprocessError) as error:
        raise GlowError(
            f"{folder}: the object cannot be linked here: {error}",
            hint="glow compile --shared makes a library that every system loads",
        ) from error


def _linked_by_compiler(code: Path) -> SharedLibrary:
    """An object as the library that the C compiler of the system makes of it."""
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / f"{code.stem}.so"
        command = ["cc", "-shared", "-o", library, code.resolve()]
        subprocess.run(command, check=True, capture_output=True, timeout=LINK_SECONDS)
        return SharedLibrary(library)


def process_address(name: str) -> int | None:
    """The address of a function of C's library."""
    try:
        return ctypes.cast(ctypes.CDLL(None)[name], ctypes.c_void_p).value
    except AttributeError:
        return None


class Entry:
    """A network of a bundle, which may be called from several threads.

    y = entry(x)                  # an array, or a tuple where there are several
    ys = entry.run({"x": x})      # a dictionary by output name

    Variables keep their values between calls, which wait for each other then.
    """

    def __init__(self, bundle: LoadedBundle, description: Mapping[str, object]) -> None:
        self._bundle = bundle
        self._entry = description
        self.name = str(description["name"])
        self.inputs = _infos(description["inputs"])
        self.outputs = _infos(description["outputs"])
        self.variables: Mapping[str, Array] = {}
        """The values of the variables, which may be written to."""
        self._kept: Bytes | None = None
        self._lock = threading.Lock()
        places = _rows(description.get("variables", ()))
        if places:
            self._kept = self._mutables()
            self.reset()
            self.variables = {
                info.name: _view(self._kept, info, place)
                for info, place in zip(_infos(places), places, strict=True)
            }

    def _mutables(self) -> Bytes:
        size = int(cast(int, self._entry["mutables_bytes"]))
        return _aligned(size, self._bundle.alignment)

    def reset(self) -> None:
        """Give variables their first values."""
        if self._kept is not None:
            with self._lock:
                self._call(f"{self._entry['symbol']}_reset", self._kept)

    def _call(self, symbol: str, mutables: Bytes) -> None:
        bundle = self._bundle
        activations = _aligned(bundle.activations_bytes, bundle.alignment)
        code = bundle.code.call(symbol, bundle.constants, mutables, activations)
        if code:
            raise GlowError(ERRORS.get(code, f"the bundle returned {code}"))

    def __call__(self, *arrays: Array, **named: Array) -> Array | tuple[Array, ...]:
        """The output, or the outputs as a tuple."""
        if len(arrays) > len(self.inputs):
            raise GlowError(
                f"the network takes {len(self.inputs)} inputs, not {len(arrays)}"
            )
        names = [info.name for info in self.inputs]
        given = dict(zip(names, arrays, strict=False)) | named
        results = tuple(self.run(given).values())
        return results[0] if len(results) == 1 else results

    def _check_names(self, inputs: Mapping[str, Array]) -> None:
        unknown = inputs.keys() - {info.name for info in self.inputs}
        if unknown:
            raise GlowError(f"the network has no input '{min(unknown)}'")

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """The outputs by name; raises GlowError for inputs that do not fit."""
        self._check_names(inputs)
        if self._kept is None:
            return self._run(inputs, self._mutables())
        with self._lock:
            return self._run(inputs, self._kept)

    def _run(self, inputs: Mapping[str, Array], mutables: Bytes) -> dict[str, Array]:
        entry = self._entry
        for info, place in zip(self.inputs, _rows(entry["inputs"]), strict=True):
            _view(mutables, info, place)[...] = _checked(info, inputs)
        self._call(str(entry["symbol"]), mutables)
        return {
            info.name: _view(mutables, info, place).copy()
            for info, place in zip(self.outputs, _rows(entry["outputs"]), strict=True)
        }


class LoadedBundle:
    """A bundle that runs here; `entries` are its networks by name."""

    def __init__(
        self, folder: Path, manifest: Mapping[str, object], code: Code
    ) -> None:
        self.manifest = manifest
        self.code = code
        self.name = str(manifest["name"])
        self.alignment = int(cast(int, manifest["alignment"]))
        self.activations_bytes = int(cast(int, manifest["activations_bytes"]))
        self.constants = _constants(folder, manifest, code)
        self.entries = {
            str(each["name"]): Entry(self, each) for each in _rows(manifest["entries"])
        }

    @property
    def inputs(self) -> Sequence[TensorInfo]:
        """The inputs of the only network."""
        return self._only().inputs

    @property
    def outputs(self) -> Sequence[TensorInfo]:
        """The outputs of the only network."""
        return self._only().outputs

    def __call__(self, *arrays: Array, **named: Array) -> Array | tuple[Array, ...]:
        """The output of the only network, or its outputs as a tuple."""
        return self._only()(*arrays, **named)

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """The outputs of the only network by name."""
        return self._only().run(inputs)

    def _only(self) -> Entry:
        if len(self.entries) > 1:
            names = ", ".join(self.entries)
            raise GlowError(
                f"the bundle has several networks: {names}",
                hint="bundle.entries[name] is one of them",
            )
        return next(iter(self.entries.values()))


def load(folder: str | os.PathLike[str], *, emulate: bool = False) -> LoadedBundle:
    """The bundle in a folder, ready to run.

    It must be for a processor of this architecture; with `emulate` it is emulated by Unicorn,
    and WebAssembly run by wasmtime (`pip install 'glow-xdsl[bundles]'`). Raises GlowError for a
    folder without a bundle, weights that are not those of the code, and code that does not run
    here.
    """
    place = Path(folder)
    manifest = read_manifest(place)
    name = str(manifest["name"])
    target = cast("Mapping[str, str]", manifest["target"])
    if emulate:
        return LoadedBundle(place, manifest, emulated_code(place, manifest, target))
    machine = platform.machine().lower()
    here = ARCHITECTURES.get(machine, machine)
    there = target["triple"].partition("-")[0]
    if there != here:
        raise GlowError(
            f"{place}: the bundle is for {target['name']} ({there}), this machine is "
            f"{here}",
            hint="emulate=True runs it in an emulator",
        )
    code = NativeCode(place, name, is_shared=bool(manifest["shared"]))
    return LoadedBundle(place, manifest, code)


def emulated_code(
    folder: Path, manifest: Mapping[str, object], target: Mapping[str, str]
) -> Code:
    """The code of a bundle, run by Unicorn, or wasmtime for WebAssembly."""
    if target["triple"].startswith("wasm"):
        from glow.bundles.wasm.code import WasmCode

        alignment = int(cast(int, manifest["alignment"]))
        return WasmCode(folder, str(manifest["name"]), alignment)
    from glow.bundles.emulation import EmulatedCode

    return EmulatedCode(folder, manifest)


def read_manifest(folder: Path) -> Mapping[str, object]:
    """The manifest of the bundle in a folder; raises GlowError where there is none."""
    if not folder.is_dir():
        raise GlowError(f"{folder} is not a folder with a bundle")
    found = [
        manifest
        for path in sorted(folder.glob("*.json"))
        if (manifest := _parsed(path)) is not None
    ]
    if len(found) != 1:
        count = "no bundle" if not found else f"{len(found)} bundles, not one"
        hint = "glow compile --emit=bundle writes one"
        raise GlowError(f"{folder} has {count}", hint=hint)
    return found[0]


def _parsed(path: Path) -> Mapping[str, object] | None:
    """A manifest; None for another file."""
    try:
        content: object = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    if not isinstance(content, dict):
        return None
    manifest = cast("Mapping[str, object]", content)
    if "entries" not in manifest or "checksums" not in manifest:
        return None
    if manifest.get("format") != FORMAT:
        raise GlowError(f"{path}: format {manifest.get('format')} is not known here")
    return manifest


def _constants(folder: Path, manifest: Mapping[str, object], code: Code) -> Bytes:
    """The weights; raises GlowError for those of another bundle."""
    name, size = str(manifest["name"]), int(cast(int, manifest["constants_bytes"]))
    if manifest["weights"] == "linked":
        content = _linked_constants(folder, name, size, code)
    else:
        content = _read_weights(folder / f"{name}.weights.bin")
    checksums = cast("Mapping[str, object]", manifest["checksums"])
    if len(content) != size or zlib.crc32(content) != checksums["constants_crc32"]:
        raise GlowError(
            f"{folder}: {name}.weights.bin is not the file of weights of this bundle",
            hint="its size or CRC-32 differs",
        )
    constants = _aligned(size, int(cast(int, manifest["alignment"])))
    constants[:size] = np.frombuffer(content, np.uint8)
    return constants


def _read_weights(path: Path) -> bytes:
    if not path.is_file():
        raise GlowError(f"{path} is missing")
    return path.read_bytes()


def _linked_constants(folder: Path, name: str, size: int, code: Code) -> bytes:
    """The weights in the code of a bundle."""
    from glow.bundles.elf import linked_weights

    find = getattr(code, "linked_constants", None)
    if find is not None:
        return find(name, size)
    return linked_weights((folder / f"{name}.o").read_bytes(), name, size)


def _rows(value: object) -> Sequence[Mapping[str, object]]:
    return cast("Sequence[Mapping[str, object]]", value)


def _infos(value: object) -> tuple[TensorInfo, ...]:
    return tuple(
        TensorInfo(
            str(row["name"]),
            tuple(cast("Sequence[int]", row["shape"])),
            _dtype(str(row["dtype"])),
        )
        for row in _rows(value)
    )


def _dtype(name: str) -> np.dtype[np.generic]:
    if name == "bfloat16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(name)


def _aligned(size: int, alignment: int) -> Bytes:
    """New bytes at a multiple of the alignment."""
    space = np.zeros(max(size, 1) + alignment, np.uint8)
    start = -space.ctypes.data % alignment
    return space[start : start + max(size, 1)]


def _view(mutables: Bytes, info: TensorInfo, place: Mapping[str, object]) -> Array:
    start = int(cast(int, place["offset"]))
    part = mutables[start : start + info.nbytes]
    return part.view(info.dtype).reshape(info.shape)


def _checked(info: TensorInfo, inputs: Mapping[str, Array]) -> Array:
    if info.name not in inputs:
        raise GlowError(f"missing input '{info.name}'")
    array = np.asarray(inputs[info.name])
    if array.shape != info.shape or array.dtype != info.dtype:
        raise GlowError(
            f"input '{info.name}' must be {info.dtype}{list(info.shape)}, not "
            f"{array.dtype}{list(array.shape)}"
        )
    return array
