"""The printer of MLIR text: what it prints, every reader takes for the same program.

xDSL's printer with four differences. Floats are spelled by `float_text`; a dense constant
that holds infinities or NaNs is a string of its bytes, as large constants are; the place
in a text that an operation was read from is not part of what the text said of it
(`glow.dialects.locations`); and a declared function whose arguments or results have
attributes takes the generic form, since xDSL's custom form leaves them out.

    dense<[0.0, -inf]> : tensor<2xf32>    dense<"0x00000000000080FF"> : tensor<2xf32>
"""

from __future__ import annotations

from dataclasses import dataclass, field
from io import StringIO
from typing import TypeAlias, cast

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import (
    AnyFloat,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FusedLoc,
    MemRefType,
    ModuleOp,
    TensorType,
    VectorType,
    f4E2M1FN,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation
from xdsl.printer import Printer
from xdsl.utils.hints import isa

from glow.dialects.attributes import array_values, is_splat
from glow.dialects.float_text import FRACTION_BITS, float_literal
from glow.dialects.locations import stated_location
from glow.dialects.small_types import is_small_float, small_dtype

UNSIGNED = {
    1: np.dtype("u1"),
    2: np.dtype("<u2"),
    4: np.dtype("<u4"),
    8: np.dtype("<u8"),
}


Classes: TypeAlias = tuple[type[Attribute], ...]
SHAPED: Classes = (TensorType, MemRefType, VectorType)
SPELLED_HERE: Classes = (DenseIntOrFPElementsAttr, DenseArrayBase, FusedLoc)


@dataclass(eq=False, repr=False)
class TextPrinter(Printer):
    """See the module's docstring."""

    _type_texts: dict[int, tuple[Attribute, str]] = field(
        default_factory=dict[int, tuple[Attribute, str]], init=False
    )
    """What types are printed as, by their `id`; an object that is kept has one for good."""

    def print_string(self, text: str, *, indent: int | None = None) -> None:
        if self.stream is None or "\n" in text:
            return super().print_string(text, indent=indent)
        self._current_column += len(text)
        self.stream.write(text)

    def _print_type(self, shaped: Attribute) -> None:
        """Print a type of many letters; of an object that came before they are known."""
        known = self._type_texts.get(id(shaped))
        if known is None:
            stream, self.stream = self.stream, StringIO()
            super().print_attribute(shaped)
            known = (shaped, self.stream.getvalue())
            self._type_texts[id(shaped)] = known
            self.stream = stream
            self._current_column -= len(known[1])
        self.print_string(known[1])

    def print_float(self, value: float, type: AnyFloat) -> None:
        self.print_string(float_literal(value, type))

    def print_attribute(self, attribute: Attribute) -> None:
        if isinstance(attribute, SHAPED):
            return self._print_type(attribute)
        if not isinstance(attribute, SPELLED_HERE):
            return super().print_attribute(attribute)
        if isa(attribute, DenseIntOrFPElementsAttr):
            if has_patterns(attribute) or has_mixed_zeros(attribute):
                return self._print_bytes(attribute)
        elif isa(attribute, DenseArrayBase) and has_patterns(attribute):
            return self._print_array(attribute)
        elif isinstance(attribute, FusedLoc):
            return super().print_attribute(stated_location(attribute))
        return super().print_attribute(attribute)

    def _print_bytes(self, dense: DenseIntOrFPElementsAttr) -> None:
        """Print a constant as the string of its bytes, those of one element if it is a
        splat.
        """
        data = dense.data.data
        if is_splat(dense):
            data = data[: dense.get_element_type().compile_time_size]
        self.print_string(f'dense<"0x{data.hex().upper()}"> : ')
        super().print_attribute(dense.get_type())

    def _print_array(self, array: DenseArrayBase) -> None:
        """Print an array of floats element by element, each bit for bit."""
        self.print_string("array<")
        super().print_attribute(array.elt_type)
        self.print_string(": ")
        float_type = cast("AnyFloat", array.elt_type)
        self.print_list(
            array_values(array), lambda value: self.print_float(value, float_type)
        )
        self.print_string(">")

    def print_op(self, op: Operation) -> None:
        if self.print_generic_format or not is_attributed_declaration(op):
            return super().print_op(op)
        self.print_generic_format = True
        super().print_op(op)
        self.print_generic_format = False


def has_patterns(dense: DenseIntOrFPElementsAttr | DenseArrayBase) -> bool:
    """Whether a constant or an array has floats that are no finite numbers."""
    element = dense.get_element_type()
    if is_small_float(element):
        array = np.frombuffer(dense.data.data, small_dtype(element))
        return not bool(np.isfinite(array).all())
    fraction_bits = FRACTION_BITS.get(type(element))
    if fraction_bits is None:
        return False
    patterns = patterns_of(dense)
    exponent = (1 << (8 * patterns.itemsize - 1)) - (1 << fraction_bits)
    return bool(np.any((patterns & exponent) == exponent))


def has_mixed_zeros(dense: DenseIntOrFPElementsAttr) -> bool:
    """Whether a constant is of 0.0 and -0.0, which xDSL prints as one number."""
    element = dense.get_element_type()
    known = type(element) in FRACTION_BITS or is_small_float(element)
    if not known or is_splat(dense):
        return False
    if element == f4E2M1FN:
        return not np.any(patterns_of(dense) & 0x7)
    return not np.any(patterns_of(dense) << 1)


def patterns_of(
    dense: DenseIntOrFPElementsAttr | DenseArrayBase,
) -> npt.NDArray[np.unsignedinteger]:
    """The elements' bits."""
    size = cast("AnyFloat", dense.get_element_type()).compile_time_size
    return np.frombuffer(dense.data.data, UNSIGNED[size])


def is_attributed_declaration(op: Operation) -> bool:
    """Whether a function without a body has attributes of arguments or results."""
    if not isinstance(op, FuncOp) or op.body.blocks:
        return False
    return op.arg_attrs is not None or op.res_attrs is not None


def mlir_text(
    module: ModuleOp, *, generic: bool = False, locations: bool = False
) -> str:
    """The module as MLIR text that ends with a line break."""
    text = StringIO()
    printer = TextPrinter(
        stream=text, print_generic_format=generic, print_debuginfo=locations
    )
    printer.print_op(module)
    return f"{text.getvalue()}\n"
