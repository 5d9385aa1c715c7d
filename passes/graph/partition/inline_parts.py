"""Puts functions in the place of their calls, so that a divided network is one graph again.

    func.func private @part0(%x: tensor<4xf32>) -> tensor<4xf32> {
      %a = glow.relu %x : tensor<4xf32>
      func.return %a : tensor<4xf32>
    }
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %a = func.call @part0(%x) : (tensor<4xf32>) -> tensor<4xf32>
      func.return %a : tensor<4xf32>
    }
  becomes
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %a = glow.relu %x : tensor<4xf32>
      func.return %a : tensor<4xf32>
    }

It is what the compiler does where one backend compiles the whole. Casts of quantized values to
stored integers and back, which stand at the borders of parts, go.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from glow.dialects.errors import GlowError
from glow.dialects.function_attributes import DEVICES
from glow.dialects.locations import place_of
from glow.dialects.quant import StorageCastOp
from glow.passes.graph.partition.calls import callee_name, functions_of
from glow.passes.rewriting.contract import GraphPass
from glow.passes.rewriting.inlining import calls_in, inline_call


def inline_parts(module: ModuleOp) -> None:
    """Put functions of the module in the place of the calls in `main`, and erase them.

    Raises GlowError for a function that calls itself, and for one that is not there.
    """
    functions = functions_of(module)
    main = functions.get("main")
    if main is None:
        return
    calls, inlined = calls_in([main]), set[str]()
    if not calls:
        return
    budget = len(functions) ** 2 + len(calls)
    while calls:
        call, budget = calls.pop(0), budget - 1
        name = callee_name(call)
        if name not in functions or functions[name] is main or budget < 0:
            what = "calls itself" if name in functions else "has no body"
            raise GlowError(
                f"@{name} {what}, and cannot be inlined", location=place_of(call)
            )
        calls = [*calls_in(inline_call(call, functions[name])), *calls]
        inlined.add(name)
    _cancel_casts(main)
    for name in inlined:
        if functions[name].sym_visibility is not None:
            functions[name].detach()
            functions[name].erase()
    module.attributes.pop(DEVICES, None)


def _cancel_casts(function: func.FuncOp) -> None:
    """Let those that read a value behind two storage casts read it itself."""
    casts = [op for op in function.walk() if isinstance(op, StorageCastOp)]
    for op in casts:
        first = op.input.owner
        if isinstance(first, StorageCastOp) and first.input.type == op.result.type:
            op.result.replace_all_uses_with(first.input)
    for op in reversed(casts):
        if not op.result.uses:
            op.detach()
            op.erase()


class InlinePartsPass(GraphPass):
    """Put functions in the place of their calls in `main`."""

    name = "inline-parts"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        inline_parts(op)
