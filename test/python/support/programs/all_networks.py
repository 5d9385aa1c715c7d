"""The networks of benchmarks and examples by name, for programs that check all of them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import onnx
from onnx import ModelProto
from places import ROOT

from benchmarks.networks import (
    NETWORKS,
    OPERATOR_NETWORKS,
    QUANTIZED_NETWORKS,
    TINY_NETWORKS,
)
from glow.diagnostics import EXIT_USAGE, did_you_mean

Networks = Mapping[str, Callable[[], ModelProto]]

EXAMPLES: Networks = {
    path.stem: partial(onnx.load, path)
    for path in sorted((ROOT / "examples" / "digits").glob("*.onnx"))
}
CHEAP: Networks = {
    **EXAMPLES,
    **{f"tiny_{name}": build for name, build in TINY_NETWORKS.items()},
}
ALL: Networks = {
    **CHEAP,
    **NETWORKS,
    **QUANTIZED_NETWORKS,
    **{f"{name}_operators": build for name, build in OPERATOR_NETWORKS.items()},
}


def chosen(names: Sequence[str]) -> Networks:
    """The networks of those names, all without one; exits with a line for another name."""
    for name in names:
        if name not in ALL:
            near = did_you_mean(name, ALL) or f"; there are {', '.join(ALL)}"
            print(f"error: there is no network '{name}'{near}", file=sys.stderr)
            sys.exit(EXIT_USAGE)
    return {name: ALL[name] for name in names or ALL}
