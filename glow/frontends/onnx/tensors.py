"""The arrays of ONNX tensors: views of the model's bytes or of its external data files.

Nothing is copied where the bytes lie in the file as NumPy wants them. Every size is
checked against the bytes that are there before an array is made, and external data must
lie in the model's folder: model files come from strangers.
"""

from __future__ import annotations

from math import prod

import numpy as np
from xdsl.ir import Attribute

from glow.dialects.errors import GlowError
from glow.dialects.weight_table import Array, element_type_of
from glow.frontends.mapped_file import file_bytes
from glow.frontends.model_folders import ModelFolders
from glow.frontends.onnx.messages import TensorProto

NUMPY_NAMES = {
    TensorProto.FLOAT: "float32",
    TensorProto.DOUBLE: "float64",
    TensorProto.FLOAT16: "float16",
    TensorProto.INT8: "int8",
    TensorProto.INT16: "int16",
    TensorProto.INT32: "int32",
    TensorProto.INT64: "int64",
    TensorProto.UINT8: "uint8",
    TensorProto.UINT16: "uint16",
    TensorProto.UINT32: "uint32",
    TensorProto.UINT64: "uint64",
    TensorProto.BOOL: "bool",
}
"""The element types that the compiler knows and NumPy has."""

MORE_NAMES = {
    TensorProto.BFLOAT16: "bfloat16",
    TensorProto.FLOAT8E4M3FN: "float8_e4m3fn",
    TensorProto.FLOAT8E4M3FNUZ: "float8_e4m3fnuz",
    TensorProto.FLOAT8E5M2: "float8_e5m2",
    TensorProto.FLOAT8E5M2FNUZ: "float8_e5m2fnuz",
    TensorProto.FLOAT8E8M0: "float8_e8m0fnu",
    TensorProto.FLOAT4E2M1: "float4_e2m1fn",
    TensorProto.INT4: "int4",
    TensorProto.UINT4: "uint4",
    TensorProto.INT2: "int2",
    TensorProto.UINT2: "uint2",
}
"""The element types that `ml_dtypes` has; its package is loaded for models with some."""

PACKED_BITS = {"float4_e2m1fn": 4, "int4": 4, "uint4": 4, "int2": 2, "uint2": 2}
"""The dtypes of which a byte of a file holds several elements, the first in the low bits."""


def dtype_of_onnx(data_type: int) -> np.dtype[np.generic]:
    """The NumPy dtype of an ONNX element type; GlowError for those we lack."""
    if data_type in MORE_NAMES:
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, MORE_NAMES[data_type]))  # pyright: ignore[reportArgumentType]
    if data_type not in NUMPY_NAMES:
        known = data_type in TensorProto.DataType.values()
        name = TensorProto.DataType.Name(data_type) if known else str(data_type)
        raise GlowError(f"elements of type {name.lower()} are not supported")
    return np.dtype(NUMPY_NAMES[data_type])  # pyright: ignore[reportArgumentType]


def element_type_of_onnx(data_type: int) -> Attribute:
    """The program's element type for an ONNX element type."""
    return element_type_of(dtype_of_onnx(data_type))


def to_array(
    tensor: TensorProto,
    folders: ModelFolders | None = None,
    raw_data: memoryview | None = None,
) -> Array:
    """The array of a tensor; `folders` hold its external data, if it has any.

    `raw_data` are its bytes where they were cut out of the message.
    Raises GlowError where the tensor is damaged or its data file is missing.
    """
    try:
        dtype = dtype_of_onnx(tensor.data_type)
        shape = tuple(tensor.dims)
        if any(size < 0 for size in shape):
            raise GlowError(f"the shape {list(shape)} is not static")
        if tensor.data_location == TensorProto.EXTERNAL:
            return _external_array(tensor, dtype, shape, folders)
        if raw_data is not None or tensor.HasField("raw_data"):
            raw = tensor.raw_data if raw_data is None else raw_data
            _check_size(len(raw), dtype, shape)
            return _elements(raw, dtype, shape)
        return _typed_array(tensor, shape)
    except GlowError as error:
        raise GlowError(f"tensor '{tensor.name}': {error.message}") from None


def _bytes_of(dtype: np.dtype[np.generic], shape: tuple[int, ...]) -> int:
    """The bytes of so many elements in a file."""
    return -(-prod(shape) * PACKED_BITS.get(dtype.name, 8 * dtype.itemsize) // 8)


def _elements(
    raw: bytes | memoryview, dtype: np.dtype[np.generic], shape: tuple[int, ...]
) -> Array:
    """A view of bytes, or a new array of one element a byte where they hold several."""
    bits = PACKED_BITS.get(dtype.name)
    if bits is None:
        return np.frombuffer(raw, dtype).reshape(shape)
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    codes = (np.frombuffer(raw, np.uint8)[:, None] >> shifts) & ((1 << bits) - 1)
    return codes.astype(np.uint8).reshape(-1)[: prod(shape)].view(dtype).reshape(shape)


def _check_size(
    found: int, dtype: np.dtype[np.generic], shape: tuple[int, ...]
) -> None:
    needed = _bytes_of(dtype, shape)
    if found != needed:
        raise GlowError(f"{found} bytes, but its shape {list(shape)} needs {needed}")


def _typed_array(tensor: TensorProto, shape: tuple[int, ...]) -> Array:
    """The array of a tensor whose numbers stand in a field of their type."""
    from onnx import numpy_helper

    fields = (
        tensor.float_data, tensor.int32_data, tensor.int64_data, tensor.double_data,
        tensor.uint64_data,
    )  # fmt: skip
    found, needed = max(len(field) for field in fields), prod(shape)
    packed = PACKED_BITS.get(dtype_of_onnx(tensor.data_type).name)
    if packed is not None and found == _bytes_of(
        dtype_of_onnx(tensor.data_type), shape
    ):
        found = needed
    if found != needed:
        raise GlowError(f"{found} numbers, but its shape {list(shape)} needs {needed}")
    return numpy_helper.to_array(tensor)


def _external_array(
    tensor: TensorProto,
    dtype: np.dtype[np.generic],
    shape: tuple[int, ...],
    folders: ModelFolders | None,
) -> Array:
    """A view of an external data file, which is mapped where it is large."""
    entries = {entry.key: entry.value for entry in tensor.external_data}
    location = entries.get("location", "")
    if folders is None:
        raise GlowError(
            f"its weights are in the file '{location}', whose folder is unknown",
            hint="import the model by its path",
        )
    path = folders.find(location)
    if not path.is_file():
        what = "is not a file" if path.exists() else "does not exist"
        raise GlowError(f"its weight file '{path}' {what}")
    try:
        offset = int(entries.get("offset", 0))
        length = int(entries.get("length", _bytes_of(dtype, shape)))
        data = file_bytes(path)
    except (OSError, ValueError) as error:
        raise GlowError(f"cannot read its weight file '{path}': {error}") from None
    _check_size(length, dtype, shape)
    if offset < 0 or offset + length > len(data):
        raise GlowError(
            f"its weight file '{path}' ends at {len(data)}, before {offset + length}"
        )
    return _elements(data[offset : offset + length], dtype, shape)
