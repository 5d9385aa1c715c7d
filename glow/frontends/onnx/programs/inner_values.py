"""Which values of a node that a program ends in the middle of are read behind that place.

They are found by importing the node with a guess of the value that it waits for: 1 is the
size of a result, a sum, and true. A node that reads more with another value computes that
again from its inputs.
"""

from __future__ import annotations

import numpy as np
from xdsl.ir import SSAValue

from glow.dialects.errors import GlowError
from glow.dialects.weight_table import dtype_of
from glow.frontends.onnx.frame import Frame, used_names
from glow.frontends.onnx.importer import Importer
from glow.frontends.onnx.lists import elements_of
from glow.frontends.onnx.programs.starts import FirstNode, Start
from glow.frontends.onnx.refusal import NeedsValue


def read_again(importer: Importer, start: Start, asked: str) -> set[str]:
    """The caller's names of inner values that are read when one is known.

    All of them where the guess is impossible. The importer's program is lost.
    """
    known = start.types[asked]
    guess = np.ones(known.get_shape(), dtype_of(known.element_type))
    start = start.with_values({asked: guess})
    nodes = importer.model.graph.node
    node = nodes[start.node]
    importer.begin()
    scope, arguments = start.enter(importer.block)
    importer.callers = {one: name for name, one in arguments.items()}
    frame = Frame(scope, used_names(importer.model.graph), importer.opsets)
    importer.import_nodes([nodes[index] for index in start.again], frame)
    first = FirstNode(importer.block, start)
    importer.graph.answers = first.answer
    read: list[SSAValue] = []
    try:
        importer.import_nodes([node], frame)
    except NeedsValue as need:
        read.append(need.value)
    except GlowError:
        return set(start.inner)
    first.end()
    values = [scope[name] for name in node.output if name in scope]
    read += [one for one in elements_of(values) if isinstance(one, SSAValue)]
    makers = {result.owner for result in first.results}
    return {
        name
        for name, result in zip(start.inner, first.results, strict=False)
        if result in read or any(use.operation not in makers for use in result.uses)
    }
