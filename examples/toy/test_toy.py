"""Text, levels and code of the node agree with its function."""

from glow_toy import DenseOp

from glow.backends.node_check import check_node


def test_node_computes_what_its_function_says() -> None:
    check_node("toy", DenseOp, [(2, 128), (128, 4), (4,)])
