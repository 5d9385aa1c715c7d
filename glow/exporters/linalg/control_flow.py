"""Loops and branches of `scf` and scalars of `arith`, which are the same there.

Their bodies are written anew, around copies of the operations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from xdsl.dialects import arith, scf, tensor
from xdsl.ir import Block, Operation, Region

from glow.dialects import arith as own_arith
from glow.exporters.linalg.linalg_writer import LinalgWriter, signless
from glow.exporters.programs.operations import operation
from glow.exporters.programs.writer import Control


def _control(
    writer: LinalgWriter, op: Operation, write: Callable[[Block], None]
) -> None:
    regions: list[Region] = []
    for region in op.regions:
        if not region.blocks:
            regions.append(Region())
            continue
        old = region.block
        new = Block(arg_types=[signless(value.type) for value in old.args])
        for value, one in zip(old.args, new.args, strict=True):
            writer.bind(value, one)
        with writer.inside(new):
            write(old)
            assert old.last_op is not None
            results = writer.values(old.last_op.operands)
            writer.append(operation(old.last_op.name, results))
        regions.append(Region(new))
    made = operation(
        op.name,
        writer.values(op.operands),
        [signless(value.type) for value in op.results],
        op.properties,
        regions,
    )
    for value, one in zip(op.results, writer.append(made).results, strict=True):
        writer.bind(value, one)


CONTROLS: Mapping[type[Operation], Control[LinalgWriter]] = dict.fromkeys(
    (
        scf.IfOp,
        scf.ForOp,
        scf.WhileOp,
        tensor.ExtractOp,
        *arith.Arith.operations,
        *own_arith.Arith.operations,
    ),
    _control,
)
