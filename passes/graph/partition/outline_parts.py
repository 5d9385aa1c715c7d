"""Makes a function of each part of nodes that are assigned to one backend.

    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %a = glow.neg %x backend "npu" : tensor<4xf32>
      %b = glow.tanh %a backend "cpu" : tensor<4xf32>
      func.return %b : tensor<4xf32>
    }
  becomes
    func.func private @part0_npu(%x: tensor<4xf32>) -> tensor<4xf32> attributes {...} {
      %a = glow.neg %x : tensor<4xf32>
      func.return %a : tensor<4xf32>
    }
    func.func private @part1_cpu(%a: tensor<4xf32>) -> tensor<4xf32> attributes {...} {
      %b = glow.tanh %a : tensor<4xf32>
      func.return %b : tensor<4xf32>
    }
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %a = func.call @part0_npu(%x) : (tensor<4xf32>) -> tensor<4xf32>
      %b = func.call @part1_cpu(%a) : (tensor<4xf32>) -> tensor<4xf32>
      func.return %b : tensor<4xf32>
    }

Parts are as large as what they read of each other allows, in no circle, and have copies of the
constants that they read (`parts.py`, `outline.py`: as `--partition` has it). Each runs on the first
device of its backend. A graph without nodes stays as it is.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr

from glow.dialects.errors import GlowError
from glow.dialects.function_attributes import BACKEND, DEVICES
from glow.dialects.locations import place_of
from glow.passes.graph.partition.divide import function_to_divide
from glow.passes.graph.partition.graph import Unit, UnitGraph
from glow.passes.graph.partition.outline import outline
from glow.passes.graph.partition.parts import form_parts
from glow.passes.rewriting.contract import GraphPass
from glow.passes.rewriting.node_builder import erase_dead_nodes


def outline_parts(module: ModuleOp) -> None:
    """Make functions of parts; raises GlowError for a node that no backend is assigned to."""
    function = function_to_divide(module)
    erase_dead_nodes(module)
    graph = UnitGraph(function)
    assigned = [_backend_of(unit) for unit in graph.units]
    backends = [*dict.fromkeys(assigned)]
    if not backends:
        return
    parts = form_parts(graph, [backends.index(name) for name in assigned])
    for op in graph.ops:
        del op.attributes[BACKEND]
    function.sym_name = StringAttr("main")
    function.properties.pop("sym_visibility", None)
    outline(module, graph, parts, [f"{name}:0" for name in backends], backends)
    module.attributes[DEVICES] = ArrayAttr(list(map(StringAttr, backends)))


def _backend_of(unit: Unit) -> str:
    """The backend of a unit, which all its nodes name."""
    found = {op.attributes.get(BACKEND) for op in unit.ops}
    names = sorted(each.data for each in found if isinstance(each, StringAttr))
    if len(names) == 1 == len(found):
        return names[0]
    place = place_of(unit.ops[0])
    if len(names) < len(found):
        raise GlowError(
            f"{unit.ops[0].name} has no backend",
            node=unit.name,
            location=place,
            hint="--assign-backends=npu,cpu gives each node one",
        )
    raise GlowError(
        f"nodes of backends {' and '.join(names)} must stay together: {unit.together}",
        node=unit.name,
        location=place,
    )


class OutlinePartsPass(GraphPass):
    """Make a function of each part of nodes that are assigned to one backend."""

    name = "outline-parts"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        outline_parts(op)
