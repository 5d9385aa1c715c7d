"""The instructions that follow from nodes: same mnemonic, attributes and regions."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from xdsl.irdl import (
    OptionalDef,
    OptPropertyDef,
    irdl_op_definition,
    opt_prop_def,
    opt_region_def,
    prop_def,
    region_def,
)

from glow.backends.cpu import dialect as cpu
from glow.dialects import glow
from glow.dialects.instr.instructions import (
    NODE_OF,
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
    prefix = "Cpu" if node.name.startswith("cpu.") else ""
    return irdl_op_definition(type(prefix + node.__name__, (InstructionOp,), namespace))


_WITHOUT_INSTRUCTION: AbstractSet[type[NodeOp]] = {
    glow.ConstantOp,  # instr.weight
    glow.SplatOp,
    glow.FusedOp,  # instr.stacked
    glow.ReshapeOp,  # instr.tensorview
    glow.ConcatOp,  # instr.insert or views
    glow.DynamicSliceOp,  # instr.dynamic_view
    glow.DynamicUpdateOp,
}

INSTRUCTION_OF: dict[type[NodeOp], type[InstructionOp]] = {
    glow.SplatOp: SplatOp,
    glow.FusedOp: StackedOp,
    **{
        node: _instruction(node)
        for node in (*glow.NODES, *cpu.NODES)
        if node not in _WITHOUT_INSTRUCTION
    },
}
"""The instruction of each node that has one of its own."""

NODE_OF.update((instruction, node) for node, instruction in INSTRUCTION_OF.items())
