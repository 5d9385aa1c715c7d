"""A node that lacks something is told, with the place where it belongs."""

from __future__ import annotations

import re

import pytest
from places import ROOT
from support.nodes.node_aspects import check_aspects, lacks
from xdsl.irdl import irdl_op_definition

from glow.dialects import glow
from glow.dialects.node import NodeOp


@irdl_op_definition
class BareOp(NodeOp):
    """A node of which nothing is known."""

    name = "glow.bare"


def test_a_bare_node_lacks_everything() -> None:
    found = list(lacks(BareOp, ()))
    for lack, what in zip(
        found, ("shape rule", "reference", "lowering", "example"), strict=True
    ):
        assert what in lack
        places = re.findall(r"[a-z_0-9]+(?:/[a-z_0-9.]+)+/?", lack)
        assert places
        assert all((ROOT / place).exists() for place in places)


def test_all_that_lack_an_example_are_named() -> None:
    with_examples = set(glow.NODES) - {glow.MishOp, glow.ConcatOp}
    with pytest.raises(LookupError, match=r"glow\.mish has no .*; glow\.concat has no"):
        check_aspects(with_examples)


def test_the_facade_has_every_node() -> None:
    assert {node.__name__ for node in glow.NODES} <= set(vars(glow))
    assert len({node.name for node in glow.NODES}) == len(glow.NODES)
