"""Every node of the dialect has a rule, or is marked as one without a derivative."""

from __future__ import annotations

from xdsl.dialects import scf

from glow.dialects import glow
from glow.passes.graph.differentiate.rules import NO_DERIVATIVE, RULES


def test_every_node_has_a_rule_or_the_mark():
    """A new node needs one entry: `Facts.derivative`, rules/<theme>.py or NO_DERIVATIVE."""
    missing = [
        op.name
        for op in glow.Glow.operations
        if op not in RULES and op not in NO_DERIVATIVE
    ]
    assert not missing, f"no rule, and no mark in rules/no_derivative.py: {missing}"


def test_no_node_has_both():
    """A rule of a node without a derivative would never be asked."""
    assert not [op.name for op in RULES if op in NO_DERIVATIVE]


def test_control_flow_has_rules():
    """Of each operation that a graph has regions by."""
    assert {scf.IfOp, scf.ForOp, scf.WhileOp} <= set(RULES)
