"""The contract of a divided network.

`main` has calls of parts only, and each part is called once, names its device, calls nothing
itself, and has the variables that it reads and saves to itself.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr

from glow.dialects.errors import GlowError
from glow.dialects.function_attributes import DEVICE
from glow.dialects.glow.state import variables_of
from glow.dialects.locations import place_of
from glow.passes.graph.partition.calls import called_parts
from glow.passes.rewriting.contract import GraphPass


def verify_parts(module: ModuleOp) -> None:
    """Raise GlowError for a module that is not a main of calls of parts."""
    owners: dict[str, str] = {}
    for _, function in called_parts(module):
        name = function.sym_name.data
        if not isinstance(function.attributes.get(DEVICE), StringAttr):
            raise GlowError(
                f"@{name} has no device",
                location=place_of(function),
                hint='a part has the attribute glow.device = "cpu:0"',
            )
        for op in function.walk():
            if isinstance(op, func.CallOp):
                raise GlowError(
                    f"@{name} calls @{op.callee.string_value()}; only main calls parts",
                    location=place_of(op),
                )
        for variable, read in variables_of(function).items():
            other = owners.setdefault(variable, name)
            if other != name:
                raise GlowError(
                    f"variable '{variable}' is in @{other} and in @{name}",
                    location=place_of(read),
                    hint="a variable is in one part only",
                )


class VerifyPartitionPass(GraphPass):
    """Verify the contract of a divided network."""

    name = "verify-partition"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        verify_parts(op)
