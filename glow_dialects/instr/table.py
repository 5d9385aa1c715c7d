"""The instructions that follow from nodes: same mnemonic, attributes and regions."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet

from xdsl.ir import Dialect, Operation
from xdsl.irdl import (
    OptionalDef,
    OptPropertyDef,
    irdl_op_definition,
    opt_prop_def,
    opt_region_def,
    prop_def,
    region_def,
)

from glow.dialects import glow
from glow.dialects.instr import memory
from glow.dialects.instr.instructions import (
    NODE_OF,
    CopyOp,
    InsertOp,
    InstructionOp,
    SplatOp,
    StackedOp,
)
from glow.dialects.node import SEGMENTS, NodeOp


def _instruction(node: type[NodeOp]) -> type[InstructionOp]:
    """The instruction class of a node: same mnemonic, attributes and regions."""
    definition = node.get_irdl_definition()
    mnemonic = node.name.removeprefix("glow.")
    namespace: dict[str, object] = {
        "__doc__": node.__doc__,
        "__module__": __name__,
        "name": f"instr.{mnemonic}",
    }
    for name, declared in definition.properties.items():
        if name == SEGMENTS:
            continue
        is_optional = isinstance(declared, OptPropertyDef)
        define = opt_prop_def if is_optional else prop_def
        namespace[name] = define(declared.constr, default_value=declared.default_value)
    for name, declared_region in definition.regions:
        is_optional = isinstance(declared_region, OptionalDef)
        define = opt_region_def if is_optional else region_def
        namespace[name] = define("single_block")
    dialect, _, _ = node.name.partition(".")
    prefix = "" if dialect == "glow" else dialect.capitalize()
    return irdl_op_definition(type(prefix + node.__name__, (InstructionOp,), namespace))


_WITHOUT_INSTRUCTION: AbstractSet[type[Operation]] = {
    *glow.QUANTIZATION_NODES,
    glow.ConstantOp,  # instr.weight
    glow.ReshapeOp,  # instr.tensorview
    glow.ConcatOp,  # instr.insert or views
    glow.DynamicSliceOp,  # instr.dynamic_view
    glow.DynamicUpdateOp,
}

_OF_NODE: dict[type[Operation], type[InstructionOp]] = {
    glow.SplatOp: SplatOp,
    glow.FusedOp: StackedOp,
}
NODE_OF.update((_OF_NODE[node], node) for node in (glow.SplatOp, glow.FusedOp))


def instruction_of(node: type[NodeOp]) -> type[InstructionOp]:
    """The instruction of a node, made when it is first asked for; KeyError if it has none."""
    if node in _WITHOUT_INSTRUCTION:
        raise KeyError(f"{node.name} has no instruction of its own")
    if node not in _OF_NODE:
        instruction = _OF_NODE[node] = _instruction(node)
        NODE_OF[instruction] = node
    return _OF_NODE[node]


def find_instruction(node: type[Operation]) -> type[InstructionOp] | None:
    """The instruction of a node, or None for an operation that has none of its own."""
    if node in _WITHOUT_INSTRUCTION or not issubclass(node, NodeOp):
        return None
    return instruction_of(node)


def instr_dialect(nodes: Iterable[type[Operation]]) -> Dialect:
    """The dialect with the instructions of nodes."""
    own = (find_instruction(node) for node in nodes)
    derived = [instruction for instruction in own if instruction is not None]
    return Dialect("instr", [*memory.OPS, CopyOp, InsertOp, *derived], [])
