"""LLVM IR in memory, while it is made and printed: registers, instructions, blocks, functions.

The llvm dialect says the same, for passes and tools (`dialect.py` goes there and back). Its
operations know their uses, their neighbours and their block, so that they may be changed in any
order. Those of a kernel, tens of thousands in a network, are each made once, at the end of a block,
and printed once: without all that, both take a third of the time, and nothing needs a collector of
cycles but loops, which `clear` breaks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr
from xdsl.dialects.llvm import LLVMFunctionType, LLVMVoidType
from xdsl.ir import Attribute, Block, Operation, SSAValue

VOID = LLVMVoidType()
"""The type of instructions without a result, this object alone."""


class Register(SSAValue[Attribute]):
    """A value: what an instruction gives, or an argument of a block.

    It is one for xDSL too, as forms and lists of the walk hold values of either level.
    """

    __slots__ = ("name", "type", "typed")

    type: Attribute
    name: str
    """What operands say, which the printer fills in."""
    typed: str
    """The same with the type before it."""

    def __init__(self, type_: Attribute) -> None:
        self.type = type_  # pyright: ignore[reportIncompatibleMethodOverride]
        self.name = ""

    @property
    def owner(self) -> Operation | Block:
        """Nothing of xDSL."""
        raise NotImplementedError

    __hash__ = object.__hash__  # In C.


class Instruction(Register):
    """An instruction, and the value that it gives."""

    __slots__ = ("kind", "operands", "properties", "successors")

    kind: type[Operation]
    """The operation of the llvm dialect that says the same."""
    operands: Sequence[Register]
    properties: Mapping[str, Attribute]
    """Those of the operation; many instructions share them."""
    successors: Sequence[BasicBlock]

    def __init__(
        self,
        kind: type[Operation],
        operands: Sequence[SSAValue],
        type_: Attribute,
        properties: Mapping[str, Attribute],
        successors: Sequence[BasicBlock] = (),
    ) -> None:
        self.kind = kind
        # Rules call values of both levels so; of this one all are registers.
        self.operands = operands  # pyright: ignore[reportAttributeAccessIssue]
        self.type = type_
        self.properties = properties
        self.successors = successors
        self.name = ""


class BasicBlock:
    """Instructions that run in order; arguments stand for phi nodes."""

    __slots__ = ("args", "instructions")

    def __init__(self, types: Iterable[Attribute] = ()) -> None:
        self.args = [Register(type_) for type_ in types]
        self.instructions: list[Instruction] = []


@dataclass(eq=False, slots=True)
class Function:
    """A function, or the declaration of one, which has no blocks."""

    name: str
    type: LLVMFunctionType
    blocks: list[BasicBlock]
    linkage: str = "external"
    argument_attributes: ArrayAttr[DictionaryAttr] | None = None

    def clear(self) -> None:
        """Let the instructions go, which nobody reads any more."""
        for block in self.blocks:
            block.instructions.clear()
