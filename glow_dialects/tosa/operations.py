"""All operations of TOSA, in one table: their names, and their properties in the generic form.

What `glow` has no nodes for is here too: programs are read whole, and what is missing is told
at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, opt_prop_def, traits_def
from xdsl.traits import IsTerminator

from glow.dialects.foreign import ForeignOp
from glow.dialects.tosa import syntax


class TosaOp(ForeignOp):
    """An operation of TOSA."""


PLAIN = """
abs add add_shape assert_equal_shape bitwise_and bitwise_not bitwise_or bitwise_xor cast
cast_from_block_scaled cast_to_block_scaled ceil clz concat_shape cos div_ceil_shape
div_floor_shape div_shape equal erf exp exp2_shape floor gather greater greater_equal identity
intdiv log log2_ceil_shape log2_floor_shape logical_and logical_left_shift logical_not
logical_or logical_right_shift logical_xor max_shape min_shape mod_shape mul mul_shape negate
pad pow reciprocal reshape rsqrt scatter select sigmoid sin slice slice_shape sub sub_shape
table tanh tile variable_read variable_write
""".split()

AXIS = "axis nan_mode"
PADDING = "pad stride dilation acc_type local_bound"

TABLE: Mapping[str, str] = {
    **dict.fromkeys(PLAIN, ""),
    "argmax": AXIS,
    "arithmetic_right_shift": "round",
    "avg_pool2d": "kernel stride pad acc_type",
    "avg_pool2d_adaptive": "acc_type",
    "clamp": "min_val max_val nan_mode",
    "concat": "axis",
    "cond_if": "",
    "const": "values",
    "const_shape": "values",
    "conv2d": PADDING,
    "conv2d_block_scaled": "block_size",
    "conv3d": PADDING,
    "custom": "operator_name domain_name implementation_attrs",
    "depthwise_conv2d": PADDING,
    "dim": "axis",
    "fft2d": "inverse local_bound",
    "matmul": "",
    "matmul_t_block_scaled": "block_size",
    "max_pool2d": "kernel stride pad nan_mode",
    "max_pool2d_adaptive": "nan_mode",
    "maximum": "nan_mode",
    "minimum": "nan_mode",
    "reduce_all": "axis",
    "reduce_any": "axis",
    "reduce_max": AXIS,
    "reduce_min": AXIS,
    "reduce_product": "axis",
    "reduce_sum": "axis",
    "rescale": "scale32 rounding_mode per_channel input_unsigned output_unsigned",
    "resize": "mode scale offset border",
    "reverse": "axis",
    "rfft2d": "local_bound",
    "transpose": "perms",
    "transpose_conv2d": "out_pad stride acc_type local_bound",
    "variable": "sym_name var_shape type initial_value",
    "while_loop": "",
    "yield": "",
}
"""By name, what is a property."""

WITH_REGIONS = ("cond_if", "while_loop", "variable")
"""Those that are read in the generic form only."""


def _operation(name: str, properties: str) -> type[TosaOp]:
    body: dict[str, object] = {
        "name": f"tosa.{name}",
        "__module__": __name__,
        "__doc__": f"`{name}` of the TOSA specification.",
        **{one: opt_prop_def(Attribute, prop_name=one) for one in properties.split()},
    }
    if name not in WITH_REGIONS:
        body["parse"] = classmethod(syntax.parse)
    if name == "yield":
        body["traits"] = traits_def(IsTerminator())
    title = "".join(word.capitalize() for word in name.split("_"))
    return irdl_op_definition(type(f"{title}Op", (TosaOp,), body))


def operations() -> Sequence[type[TosaOp]]:
    """The classes of the table's operations."""
    return [_operation(name, properties) for name, properties in TABLE.items()]
