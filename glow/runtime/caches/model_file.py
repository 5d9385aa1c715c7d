"""A compiled model as a file: all that it takes to run it, and checksums of everything.

    magic | length | hash | size of the head | head (JSON) | objects | ... | constants | initial

The hash covers head and objects; the head has a checksum of each block of the constants, which
begin at a page, and of the initial values of variables. They are read, but for those that another
program has in memory: networks run faster on memory of large pages. Where several processes run
a network they are mapped, which is for files that are replaced but never changed.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import struct
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field
from typing import Any, BinaryIO

import numpy as np

from glow.dialects.function_attributes import FilledOutput
from glow.open_sizes import OpenSignature, OpenTensorInfo
from glow.padded_sizes import PaddedSize, Padding, Thinned
from glow.runtime.buffers import aligned_empty
from glow.runtime.caches.network_part import NetworkPart
from glow.runtime.constants import Piece, borrow_ahead
from glow.runtime.executable import Bytes
from glow.runtime.file_blocks import (
    Rest,
    checksums,
    ends_of,
    no_rest,
    read_checked,
    write_pieces,
)
from glow.runtime.native_program import Argument, NativeProgram, NativeVariable
from glow.tensor_info import Signature, TensorInfo

MAGIC = b"glowmod5"
PREFIX = struct.Struct("<8sQ32s")
HEAD_SIZE = struct.Struct("<Q")

KINDS = ("takes", "gives")
"""What the infos of a signature are stored under."""

DAMAGE = (OSError, ValueError, LookupError, TypeError, struct.error, MemoryError)
"""What reading a damaged file may raise."""


@dataclass(frozen=True)
class StoredModel:
    """A compiled model, or a program of one, and what its compilation had to say."""

    signature: Signature | OpenSignature
    """Open for a model that compiles at its calls, of which nothing else is stored here."""
    program: NativeProgram | None
    """None where there is nothing to run."""
    warnings: Sequence[str] = ()
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    """The hashes of the files of weights beside the model, by name."""
    asks: Sequence[str] = ()
    """The values on which the model's next program depends."""
    backend: str = ""
    """The one of several that has made the program."""
    parts: Sequence[NetworkPart] = ()
    """Of a network of several backends, whose programs are stored one by one."""

    @property
    def size(self) -> int:
        """About how many bytes its file has."""
        program = self.program or NOTHING
        arrays = program.constants.nbytes + program.initial.nbytes
        return arrays + sum(map(len, program.objects))


NOTHING = NativeProgram([], aligned_empty(0), 0, 0, [], [], is_small=True)
"""Stands for no program."""


def write_model(model: StoredModel, file: BinaryIO, rest: Rest = no_rest) -> None:
    """Writes a model; raises OSError."""
    program = model.program or NOTHING
    head = json.dumps(_describe(model, rest)).encode()
    payload = b"".join([HEAD_SIZE.pack(len(head)), head, *program.objects])
    file.write(PREFIX.pack(MAGIC, len(payload), hashlib.sha256(payload).digest()))
    file.write(payload)
    file.write(bytes(_constants_start(len(payload)) - PREFIX.size - len(payload)))
    write_pieces(file, program.constants.data, rest)
    write_pieces(file, program.initial.data, rest)


def read_model(descriptor: int) -> StoredModel | None:
    """The model in an open file; None where any byte of it is missing or wrong."""
    try:
        return _read(descriptor)
    except DAMAGE:
        return None


def map_model(descriptor: int) -> StoredModel | None:
    """As `read_model`, with constants that are pages of the file."""
    try:
        content = mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)
    except DAMAGE:
        return None
    return model_in(memoryview(content))


def model_in(data: memoryview) -> StoredModel | None:
    """The model in the bytes of a file; None where any of them is missing or wrong.

    The constants stay where they are: the bytes begin at an aligned address, and last as long
    as the model.
    """
    try:
        return _view(data)
    except DAMAGE:
        return None


def _read(descriptor: int) -> StoredModel | None:
    prefix = os.pread(descriptor, PREFIX.size, 0)
    size = os.fstat(descriptor).st_size
    length = _payload_size(prefix, size)
    payload = os.pread(descriptor, length, PREFIX.size)
    head, places = _check(prefix, payload, size)
    arrays: list[Bytes] = []
    pieces, digests = _pieces(head)
    for (start, count), blocks in places:
        array = aligned_empty(count)
        lent = borrow_ahead(array, pieces, digests)
        if not read_checked(descriptor, start, array.data, blocks, pieces, lent):
            return None
        pieces = digests = ()  # The other array has none.
        arrays.append(array)
    return _stored(head, payload, *arrays)


def _view(data: memoryview) -> StoredModel | None:
    prefix = bytes(data[: PREFIX.size])
    length = _payload_size(prefix, len(data))
    payload = bytes(data[PREFIX.size : PREFIX.size + length])
    head, places = _check(prefix, payload, len(data))
    arrays: list[Bytes] = []
    cuts = ends_of(_pieces(head)[0])
    for (start, count), blocks in places:
        part = data[start : start + count]
        if checksums(part, cuts=cuts) != blocks:
            return None
        cuts = []
        arrays.append(np.frombuffer(part, np.uint8))
    return _stored(head, payload, *arrays)


def _payload_size(prefix: bytes, size: int) -> int:
    """The bytes of head and objects; raises ValueError for what is no such file."""
    magic, length, _ = PREFIX.unpack(prefix)
    if magic != MAGIC or length > size:
        raise ValueError("no model")
    return length


Span = tuple[tuple[int, int], list[int]]
"""A start and a count of bytes, and the checksums of their blocks."""


def _check(
    prefix: bytes, payload: bytes, size: int
) -> tuple[dict[str, Any], list[Span]]:
    """The head, and where the constants and initial values are; ValueError for damage."""
    _, length, digest = PREFIX.unpack(prefix)
    if hashlib.sha256(payload).digest() != digest:
        raise ValueError("another hash")
    (head_size,) = HEAD_SIZE.unpack_from(payload)
    head: dict[str, Any] = json.loads(
        payload[HEAD_SIZE.size : HEAD_SIZE.size + head_size]
    )
    start = _constants_start(length)
    middle = start + head["constants"]
    if size != middle + head["initial"]:
        raise ValueError("another size")
    return head, [
        ((start, head["constants"]), head["blocks"]),
        ((middle, head["initial"]), head["initial_blocks"]),
    ]


def _stored(
    head: dict[str, Any], payload: bytes, constants: Bytes, initial: Bytes
) -> StoredModel:
    """The model of a head, of objects and of arrays."""
    (head_size,) = HEAD_SIZE.unpack_from(payload)
    end = HEAD_SIZE.size + head_size
    objects: list[bytes] = []
    for object_size in head["objects"]:
        objects.append(payload[end : end + object_size])
        end += object_size
    program = NativeProgram(
        objects,
        constants,
        head["mutables"],
        head["activations"],
        [_argument(entry) for entry in head["inputs"]],
        [_argument(entry) for entry in head["outputs"]],
        head["is_small"],
        head["target"],
        head["writes_inputs"],
        tuple((node, error) for node, error in head["reports"]),
        tuple(map(_variable, head["variables"])),
        head["table"],
        initial,
        *_pieces(head),
        filled=tuple(FilledOutput(i, o, tuple(at)) for i, o, at in head["filled"]),
    )
    return StoredModel(
        _signature(head),
        program if head["runs"] else None,
        head["warnings"],
        head["files"],
        head["asks"],
        head["backend"],
        tuple(map(_part, head["parts"])),
    )


def _part(entry: Sequence[Any]) -> NetworkPart:
    name, device, backend, takes, gives = entry
    return NetworkPart(name, device, backend, tuple(takes), tuple(gives))


def _pieces(head: Mapping[str, Any]) -> tuple[Sequence[Piece], Sequence[bytes]]:
    """The constants that programs share, and their hashes."""
    pieces = tuple((start, size) for start, size in head["pieces"])
    return pieces, tuple(map(bytes.fromhex, head["digests"]))


def _constants_start(payload_size: int) -> int:
    return -(-(PREFIX.size + payload_size) // mmap.PAGESIZE) * mmap.PAGESIZE


def _describe(model: StoredModel, rest: Rest) -> dict[str, Any]:
    """The head of a model's file."""
    program, signature = model.program or NOTHING, model.signature
    return {
        "open": isinstance(signature, OpenSignature),
        "takes": list(map(_entry, signature.inputs)),
        "gives": list(map(_entry, signature.outputs)),
        "padding": _padding_entry(signature),
        "asks": list(model.asks),
        "runs": model.program is not None,
        "inputs": list(map(_place, program.inputs)),
        "outputs": list(map(_place, program.outputs)),
        "variables": [[v.name, v.initial, *_place(v.place)] for v in program.variables],
        "table": program.table_offset,
        "pieces": list(program.pieces),
        "digests": [digest.hex() for digest in program.digests],
        "constants": program.constants.nbytes,
        "mutables": program.mutables_size,
        "activations": program.activations_size,
        "is_small": program.is_small,
        "target": program.target,
        "writes_inputs": program.writes_inputs,
        "filled": list(program.filled),
        "reports": list(program.reports),
        "objects": list(map(len, program.objects)),
        "blocks": checksums(program.constants.data, rest, ends_of(program.pieces)),
        "initial": program.initial.nbytes,
        "initial_blocks": checksums(program.initial.data, rest),
        "warnings": list(model.warnings),
        "files": dict(model.files),
        "backend": model.backend,
        "parts": list(map(astuple, model.parts)),
    }


def _entry(info: TensorInfo | OpenTensorInfo) -> list[Any]:
    entry: list[Any] = [info.name, info.shape, info.dtype.name]
    if isinstance(info, OpenTensorInfo):
        entry.append(info.is_specialized_on)
    return entry


def _signature(head: Mapping[str, Any]) -> Signature | OpenSignature:
    if head["open"]:
        takes, gives = (tuple(map(_open_info, head[kind])) for kind in KINDS)
        return OpenSignature(takes, gives, _padding(head["padding"]))
    return Signature(*(tuple(map(_info, head[k])) for k in KINDS))


def _padding_entry(signature: Signature | OpenSignature) -> list[Any] | None:
    if isinstance(signature, Signature) or signature.padding is None:
        return None
    sizes = signature.padding.sizes.items()
    padding = signature.padding
    return [
        {name: astuple(one) for name, one in sizes},
        padding.cuts,
        padding.thinned,
    ]


def _padding(entry: Sequence[Any] | None) -> Padding | None:
    if entry is None:
        return None
    padded, outputs, thinned = entry
    cuts = (tuple((axis, name) for axis, name in cuts) for cuts in outputs)
    sizes = {
        name: PaddedSize(
            tuple(sizes), at_front, tuple(along), step, tuple(of), smallest
        )
        for name, (sizes, at_front, along, step, of, smallest) in padded.items()
    }
    parts = (tuple(Thinned(*one) for one in some) for some in thinned)
    return Padding(sizes, tuple(cuts), tuple(parts))


def _info(entry: Sequence[Any]) -> TensorInfo:
    name, shape, dtype = entry
    return TensorInfo(name, tuple(shape), _dtype(dtype))


def _open_info(entry: Sequence[Any]) -> OpenTensorInfo:
    name, shape, dtype, is_specialized_on = entry
    known = None if shape is None else tuple(shape)
    return OpenTensorInfo(name, known, _dtype(dtype), is_specialized_on)


def _place(argument: Argument) -> list[Any]:
    return [argument.offset, argument.shape, argument.dtype.name]


def _variable(entry: Sequence[Any]) -> NativeVariable:
    name, initial, *place = entry
    return NativeVariable(name, _argument(place), initial)


def _argument(entry: Sequence[Any]) -> Argument:
    offset, shape, dtype = entry
    return Argument(offset, tuple(shape), _dtype(dtype))


def _dtype(name: str) -> np.dtype[np.generic]:
    """The dtype of a name, also of those that another package adds to NumPy's."""
    if name not in np.sctypeDict:
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, name))
    return np.dtype(name)
