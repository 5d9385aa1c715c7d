"""Lowers every node on quantized elements to nodes on stored integers and floats.

The reference lowering: exact for all shapes and targets, since each step is the one
operation that `docs/quantization.md` names. What a backend has kernels for stays.

    %1 = quant.dcast %0 : tensor<4x!quant.uniform<u8:f32, 0.5:3>> to tensor<4xf32>
  becomes
    %2 = glow.convert %0 : tensor<4xf32>
    %3 = glow.sub %2, %three : tensor<4xf32>
    %1 = glow.mul %3, %half : tensor<4xf32>
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass

from glow.backends.backend import Rewrite, get_backend
from glow.dialects.errors import GlowError
from glow.dialects.glow import QUANTIZATION_NODES, ConstantOp, SplatOp
from glow.dialects.node import node_name
from glow.dialects.quant import StorageCastOp
from glow.dialects.quantized import any_quantized, is_packed, is_quantized
from glow.dialects.weights import new_constant, stored_value, weights_of
from glow.lowering.lower_nodes.legality import NONE
from glow.lowering.lower_quantized.parts import Lowering, Parts
from glow.passes.quantization.casts import tensor_of
from glow.passes.rewriting.node_builder import erase, erase_dead_nodes, name_of
from glow.passes.rewriting.operations import all_operations

STORAGE = (ConstantOp, StorageCastOp)

OF_QUANTIZATION = frozenset(QUANTIZATION_NODES)
"""Nodes to lower whatever the elements of their values are."""


def is_pending(op: Operation) -> bool:
    """Whether an operation computes on quantized elements or integers."""
    if isinstance(op, STORAGE) or op.name.startswith("func."):
        return False
    values = (*op.operands, *op.results)
    return type(op) in OF_QUANTIZATION or any_quantized([v.type for v in values])


@cache
def lowerings() -> Mapping[type[Operation], Lowering]:
    """Node class to the function that replaces such a node; loaded where there are some."""
    from glow.lowering.lower_quantized import (
        arithmetic,
        block_weights,
        dynamic,
        products,
    )

    return {
        **arithmetic.LOWERINGS,
        **products.LOWERINGS,
        **dynamic.LOWERINGS,
        **block_weights.LOWERINGS,
    }


def lower(op: Operation) -> None:
    """Lower one operation; GlowError where there is no lowering."""
    lowering = lowerings().get(type(op))
    if lowering is None:
        raise GlowError(f"{op.name} has no integer form", node=node_name(op))
    lowering(op, Parts(op))


def store_constants(module: ModuleOp) -> None:
    """Constants of quantized elements become those of their integers."""
    for op in all_operations(module):
        if not isinstance(op, StorageCastOp):
            continue
        constant = op.input.owner
        if isinstance(constant, ConstantOp) and is_quantized(op.input.type):
            plain = _plain_constant(constant, tensor_of(op.result))
            block = op.parent
            assert block is not None
            block.insert_op_before(plain, op)
            plain.location = constant.location
            plain.result.name_hint = constant.result.name_hint
            op.result.replace_all_uses_with(plain.result)
            erase(op)


def _plain_constant(
    constant: ConstantOp, stored: TensorType[Attribute]
) -> ConstantOp | SplatOp:
    """The constant of the stored integers; packed ones are unpacked."""
    if not is_packed(tensor_of(constant.result)):
        return ConstantOp.build_node([], [stored], value=constant.value)
    array = stored_value(constant.result)
    assert array is not None
    return new_constant(weights_of(constant), array, name_of(constant.result))


NO_REWRITES: Mapping[type[Operation], Rewrite] = {}


def lower_quantized(
    module: ModuleOp, rewrites: Mapping[type[Operation], Rewrite] = NO_REWRITES
) -> None:
    """Lower a module's nodes; casts to stored integers cancel.

    A backend's `rewrites` are tried first: they keep what it has kernels for, of unsigned
    bytes.
    """
    pending = [op for op in all_operations(module) if is_pending(op)]
    if pending and rewrites:
        from glow.lowering.lower_quantized.unsigned import make_unsigned

        make_unsigned(module)
    for op in pending:
        if op.parent is None:
            continue
        rewrite = rewrites.get(type(op))
        if rewrite is None or not rewrite(op):
            lower(op)
    from glow.passes.quantization.integer.fold_storage_casts import (
        cancel_storage_casts,
    )

    store_constants(module)
    cancel_storage_casts(module)
    erase_dead_nodes(module)


@dataclass(frozen=True)
class LowerQuantizedPass(ModulePass):
    """Lower nodes on quantized elements to nodes on stored integers and floats; `backend` names
    one whose kernels for integers are used.
    """

    name = "lower-quantized"

    backend: str = NONE
    keep_products: bool = False
    """Deprecated: `backend=cpu`."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        backend = self.backend
        if self.keep_products:
            warnings.warn(
                "lower-quantized{keep-products=true} is now lower-quantized{backend=cpu}",
                FutureWarning,
                stacklevel=2,
            )
            backend = "cpu"
        # Nothing is loaded for other programs. Casts may be all that empty tensors have left.
        if any(
            is_pending(each) or isinstance(each, StorageCastOp)
            for each in all_operations(op)
        ):
            lower_quantized(
                op, {} if backend == NONE else get_backend(backend).quantized_rewrites()
            )
