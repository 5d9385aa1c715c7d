"""The base of all operations of the `glow`, `cpu` and `instr` dialects.

An operation is defined once, by its IRDL operands and properties plus one shape rule
(`infer`). Text, verification, building with inferred types and the instruction of the
same name all follow from that definition, so adding an operator is one class.

The text lists operands, then the properties that differ from their default, and spells
each result type once; operand types are known where the operand was defined:

    %1 = glow.conv2d %x, %w, %b pads [1, 1, 1, 1] : tensor<1x64x56x56xf32>
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any, ClassVar, Self, TypeAlias, cast

from xdsl.dialects.builtin import DenseArrayBase, IndexType, TensorType
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    OptOperandDef,
    OptPropertyDef,
    VarOperandDef,
    VerificationContext,
    opt_operand_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import OpTrait, Pure
from xdsl.utils.exceptions import VerifyException

from glow.dialects.attributes import Attributes, AttributeValue, to_attribute
from glow.dialects.attributes import operand_segments_attr as operand_segments_attr
from glow.dialects.bounded_cache import bounded_cache
from glow.dialects.errors import fail_unless as fail_unless
from glow.dialects.locations import named_location as named_location
from glow.dialects.locations import node_name as node_name
from glow.dialects.quantized import (
    MOVEMENT_FORMS,
    IntegerForm,
    any_quantized,
    check_storage,
)
from glow.dialects.simplification import SimplifiesNode
from glow.dialects.tensor_types import element_of as element_of
from glow.dialects.tensor_types import is_static_tensor, value_of
from glow.dialects.tensor_types import memref_of as memref_of
from glow.dialects.tensor_types import shape_of as shape_of
from glow.dialects.tensor_types import tensor_of as tensor_of
from glow.dialects.tensor_types import tensor_type as tensor_type
from glow.dialects.text import (
    kind_of,
    parse_attributes,
    parse_defined_operand,
    parse_operands,
    parse_property,
    parse_regions,
    print_attributes_and_regions,
    print_property,
)

MAX_AXES = 64
"""NumPy's limit."""

Types = Sequence[TensorType[Attribute]]

OnnxNames: TypeAlias = "str | Mapping[str, Mapping[str, float]]"
"""The ONNX operator that a node is, or several with their own defaults of attributes."""

SEGMENTS = AttrSizedOperandSegments.attribute_name


class DataParallel(OpTrait):
    """Each result element depends on the operand elements of the same position only.

    Such operations fuse, stack and may overwrite an operand of their own type.
    """


def public_nodes(namespace: Mapping[str, Any]) -> list[str]:
    """The names of the node classes that a module defines, bases of nodes included.

    Modules of nodes have them as `__all__`, so that a façade needs no list of names.
    """
    places = namespace["__name__"], namespace["__package__"]
    return [
        name
        for name, value in namespace.items()
        if isinstance(value, type)
        and value.__module__ in places
        and NodeOp in value.__mro__  # abstract classes answer issubclass slowly
    ]


def nodes_of(*modules: ModuleType) -> tuple[type[NodeOp], ...]:
    """The nodes that modules define, in order, without the bases."""
    public = [vars(module)[name] for module in modules for name in module.__all__]
    return tuple(dict.fromkeys(n for n in public if "get_irdl_definition" in vars(n)))


class GlowOp(IRDLOperation):
    """Text shared by nodes and instructions; see the module's docstring."""

    @classmethod
    def property_names(cls) -> list[str]:
        """The names of the printed properties, in declaration order."""
        return [
            name for name in cls.get_irdl_definition().properties if name != SEGMENTS
        ]

    def attributes_view(self) -> Attributes:
        """Typed access to the properties, with defaults."""
        return Attributes(self.get_irdl_definition(), self.properties)

    def print_properties(self, printer: Printer) -> None:
        """Print each property that differs from its default as `name value`."""
        declared = self.get_irdl_definition().properties
        for name in self.property_names():
            value = self.properties.get(name)
            if value is None or value == declared[name].default_value:
                continue
            printer.print_string(f" {name}")
            print_property(printer, value, kind_of(declared[name]))

    @classmethod
    def parse_properties(cls, parser: Parser) -> dict[str, Attribute]:
        """Parse `name value` pairs in any order."""
        declared = cls.get_irdl_definition().properties
        names = set(cls.property_names())
        values: dict[str, Attribute] = {}
        while (name := parser.parse_optional_keyword_in(names)) is not None:
            values[name] = parse_property(parser, declared[name])
        return values

    @classmethod
    def parse_all_properties(cls, parser: Parser) -> dict[str, Attribute]:
        """Parse the properties and add the defaults; an error names what is missing."""
        values = cls.parse_properties(parser)
        for name, declared in cls.get_irdl_definition().properties.items():
            if name in values or name == SEGMENTS:
                continue
            if declared.default_value is not None:
                values[name] = declared.default_value
            elif not isinstance(declared, OptPropertyDef):
                parser.raise_error(f"{cls.name} needs the attribute '{name}'")
        return values


class NodeOp(GlowOp):
    """An operation on tensors: a value-semantics node of the graph."""

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    predicate = opt_operand_def(TensorType)
    """A hint that results where it is false are not needed; a backend may ignore it
    (Glow's predicates: one boolean for each batch element)."""

    traits = traits_def(Pure(), SimplifiesNode())

    INTEGER_FORM: ClassVar[IntegerForm | None] = None
    """The rule for types of quantized elements; None where it does not compute on them."""

    ONNX: ClassVar[OnnxNames | None] = None
    """The ONNX operators that are this node: same operands, attributes of the same names.
    Others have a handler in `glow.frontends.onnx`."""

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types | None:
        """The result types that follow from operands and attributes.

        None where the types are the caller's choice (`reshape`, `constant`, ...), which
        `check` then verifies. Raises VerifyException naming the rule that is broken.
        """
        return None

    @classmethod
    def check(cls, operands: Types, attributes: Attributes, results: Types) -> None:
        """Verify the result types; by default they are those of `infer`."""
        inferred = cls.infer(operands, attributes)
        if inferred is None:
            return
        fail_unless(
            len(inferred) == len(results),
            f"{cls.name} has {len(inferred)} results, not {len(results)}",
        )
        quantized = any_quantized((*operands, *results))
        for number, (expected, actual) in enumerate(
            zip(inferred, results, strict=True)
        ):
            if expected == actual:
                continue
            fits = quantized or cls.may_store(
                expected.element_type, actual.element_type
            )
            if fits and expected.get_shape() == actual.get_shape():
                continue  # Without the message: types may have a scale for each row.
            raise VerifyException(
                f"result {number} has type {actual}, but operands and attributes give "
                f"{expected}"
            )

    @classmethod
    def check_operands(cls, types: Sequence[Attribute]) -> None:
        """Verify the number and the classes of operands other than the predicate."""
        declared = [
            definition
            for name, definition in cls.get_irdl_definition().operands
            if name != "predicate"
        ]
        required = sum(not isinstance(each, VarOperandDef) for each in declared)
        last = declared[-1] if declared else None
        endless = isinstance(last, VarOperandDef) and not isinstance(
            last, OptOperandDef
        )
        fail_unless(
            required <= len(types) and (endless or len(types) <= len(declared)),
            f"{cls.name} does not take {len(types)} operands",
        )
        for number, value_type in enumerate(types):
            definition = declared[min(number, len(declared) - 1)]
            try:
                definition.constr.verify([value_type], VerificationContext())
            except VerifyException:
                raise VerifyException(
                    f"operand {number} of {cls.name} must not be {value_type}"
                ) from None

    @classmethod
    def may_store(cls, inferred: Attribute, chosen: Attribute) -> bool:
        """Whether results may have elements of another type than the inferred one."""
        return False

    @classmethod
    def scratch_types(cls, operands: Types, attributes: Attributes) -> Types:
        """What memory an instruction of the node needs while it runs, and only then.

        One `@inout` operand each, of meaningless content before and after.
        """
        return ()

    @classmethod
    def build_node(
        cls,
        operands: Sequence[SSAValue | Operation],
        result_types: Types | None = None,
        *,
        regions: Sequence[Region] = (),
        predicate: SSAValue | None = None,
        **attributes: AttributeValue,
    ) -> Self:
        """A new node; result types are inferred unless given.

        `operands` are the node's operands in order, trailing optional ones left out.
        Raises VerifyException when a shape rule is broken, and where the result has a
        quantization of its own, which nothing but the caller can know.
        """
        values = [value_of(operand) for operand in operands]
        declared = (definition := cls.get_irdl_definition()).properties
        properties = {
            name: attribute
            for name, value in attributes.items()
            if (attribute := to_attribute(value, declared.get(name))) is not None
        }
        if result_types is None:
            types = [cast(TensorType[Attribute], value.type) for value in values]
            result_types = cls.infer(types, Attributes(definition, properties))
            assert result_types is not None, f"{cls.name} needs explicit result types"
            check_storage(cls, types)
            cls.check_inferred(result_types)
        if predicate is not None:
            values.append(predicate)
        properties[SEGMENTS] = cls._operand_segments(len(values), predicate is not None)
        for name, each in declared.items():
            if name not in properties and each.default_value is not None:
                properties[name] = each.default_value
        return cls.create(
            operands=values,
            result_types=result_types,
            properties=properties,
            regions=regions,
        )

    @classmethod
    def check_inferred(cls, results: Types) -> None:
        """Refuse inferred types of quantized elements, unless elements only move.

        The operands say nothing about the result's scale and zero point.
        """
        fail_unless(
            not any_quantized(results) or cls.INTEGER_FORM in MOVEMENT_FORMS,
            f"the type of {cls.name} on quantized elements must be given: its scale and "
            "zero point do not follow from the operands",
        )

    @classmethod
    @bounded_cache
    def _operand_segments(cls, count: int, has_predicate: bool) -> DenseArrayBase:
        """The segment sizes of `count` operands given in order."""
        remaining = count - has_predicate
        sizes: list[int] = []
        for name, declared in cls.get_irdl_definition().operands:
            if name == "predicate":
                sizes.append(int(has_predicate))
            elif isinstance(declared, VarOperandDef) and not isinstance(
                declared, OptOperandDef
            ):
                sizes.append(remaining)
                remaining = 0
            else:
                sizes.append(min(remaining, 1))
                remaining -= sizes[-1]
        too_many = f"{cls.name} has {count - has_predicate} operands, too many"
        fail_unless(remaining == 0, too_many)
        return operand_segments_attr(*sizes)

    @property
    def inputs(self) -> Sequence[SSAValue]:
        """The operands without the predicate, whose size of four bytes is the last."""
        sizes = cast(DenseArrayBase, self.properties[SEGMENTS]).data.data
        return self.operands[:-1] if any(sizes[-4:]) else self.operands

    @property
    def is_quantized(self) -> bool:
        """Whether an operand or a result has quantized elements."""
        return any_quantized([value.type for value in (*self.operands, *self.results)])

    def verify_(self) -> None:
        """Check the shape rule."""
        for number, value in enumerate(self.inputs):
            if not (is_static_tensor(value) or isinstance(value.type, IndexType)):
                raise VerifyException(
                    f"operand {number} must be a tensor of static shape, not "
                    f"{value.type}"
                )
        operands = cast(Types, [value.type for value in self.inputs])
        results = cast(Types, self.result_types)
        for value in (*self.inputs, *self.results):
            if isinstance(value.type, TensorType) and len(shape_of(value)) > MAX_AXES:
                raise VerifyException(f"tensors have at most {MAX_AXES} axes")
        check_storage(type(self), (*operands, *results))
        self.check(operands, self.attributes_view(), results)
        if operands and any_quantized((*operands, *results)):
            self.check_integer_form(operands, results)

    def check_integer_form(self, operands: Types, results: Types) -> None:
        """Verify the types of quantized elements; see `INTEGER_FORM`."""
        form = type(self).INTEGER_FORM
        if form is None:
            raise VerifyException(f"{self.name} does not compute on quantized elements")
        form(operands, results)

    def print(self, printer: Printer) -> None:
        """Print the short form."""
        if self.inputs:
            printer.print_string(" ")
            printer.print_list(self.inputs, printer.print_ssa_value)
        if self.predicate is not None:
            printer.print_string(" pred ")
            printer.print_ssa_value(self.predicate)
        self.print_properties(printer)
        print_attributes_and_regions(printer, self, self.get_irdl_definition())
        if self.results:
            printer.print_string(" : ")
            printer.print_list(self.result_types, printer.print_attribute)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parse the short form."""
        start = parser.pos
        operands = parse_operands(parser)
        has_predicate = parser.parse_optional_keyword("pred") is not None
        if has_predicate:
            operands.append(parse_defined_operand(parser))
        properties = cls.parse_all_properties(parser)
        try:
            segments = cls._operand_segments(len(operands), has_predicate)
        except VerifyException as error:
            parser.raise_error(str(error), start, parser.pos)
        properties[SEGMENTS] = segments
        attributes = parse_attributes(parser, cls.get_irdl_definition())
        regions = parse_regions(parser, cls.get_irdl_definition())
        result_types: list[Attribute] = []
        if cls.get_irdl_definition().results:
            parser.parse_punctuation(":")
            result_types = parser.parse_comma_separated_list(
                parser.Delimiter.NONE, parser.parse_type
            )
        return cls.create(
            operands=operands,
            result_types=result_types,
            properties=properties,
            attributes=attributes,
            regions=regions,
        )
