"""The types of the torch dialect that ONNX models have in it."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, IntAttr, NoneAttr
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.hints import isa

OPEN = -1


@irdl_attr_definition
class TensorType(ParametrizedAttribute, TypeAttribute):
    """`!torch.vtensor<[1,?],f32>`; without a shape or an element type they are `NoneAttr`."""

    name = "torch.vtensor"
    shape: Attribute
    element: Attribute

    @property
    def sizes(self) -> list[int] | None:
        """The sizes, -1 where one is open; None of any rank."""
        if not isa(self.shape, ArrayAttr[IntAttr]):
            return None
        return [one.data for one in self.shape]

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        """`<[1,?],f32>`, `<*,f32>`, or nothing."""
        if parser.parse_optional_punctuation("<") is None:
            return [NoneAttr(), NoneAttr()]
        shape: Attribute = NoneAttr()
        if parser.parse_optional_punctuation("*") is None:
            sizes = parser.parse_comma_separated_list(
                parser.Delimiter.SQUARE, lambda: _parse_size(parser)
            )
            shape = ArrayAttr(map(IntAttr, sizes))
        parser.parse_punctuation(",")
        if parser.parse_optional_keyword("unk") is not None:
            element: Attribute = NoneAttr()
        else:
            element = parser.parse_type()
        parser.parse_punctuation(">")
        return [shape, element]

    def print_parameters(self, printer: Printer) -> None:
        """`<[1,?],f32>`."""
        if isinstance(self.shape, NoneAttr) and isinstance(self.element, NoneAttr):
            return
        sizes = self.sizes
        shape = "*"
        if sizes is not None:
            shape = f"[{','.join('?' if n == OPEN else str(n) for n in sizes)}]"
        printer.print_string(f"<{shape},")
        if isinstance(self.element, NoneAttr):
            printer.print_string("unk")
        else:
            printer.print_attribute(self.element)
        printer.print_string(">")


def _parse_size(parser: AttrParser) -> int:
    if parser.parse_optional_punctuation("?") is not None:
        return OPEN
    return parser.parse_integer()


@irdl_attr_definition
class NoneType(ParametrizedAttribute, TypeAttribute):
    """Of an input that is left out."""

    name = "torch.none"


TYPES = (TensorType, NoneType)
