"""All operations of StableHLO and CHLO that programs have, in one table.

A row is the way that an operation is spelled, and its properties in the generic form. What
`glow` has no nodes for is here too: programs are read whole, and what is missing is told at once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, opt_prop_def, traits_def
from xdsl.traits import IsTerminator

from glow.dialects.stablehlo import region_syntax, syntax
from glow.dialects.stablehlo.operation import StableHloOp
from glow.dialects.stablehlo.syntax import Syntax

Row = tuple[Syntax[StableHloOp] | None, str]
"""How it is spelled, and the names of its properties."""

PLAIN = """
abs add and atan2 bitcast_convert broadcast cbrt ceil clamp complex convert cosine
count_leading_zeros divide dynamic_reshape dynamic_update_slice exponential
exponential_minus_one floor imag is_finite log log_plus_one logistic maximum minimum multiply
negate not optimization_barrier or popcnt power real real_dynamic_slice remainder reshape
round_nearest_afz round_nearest_even rsqrt select set_dimension_size shift_left
shift_right_arithmetic shift_right_logical sign sine sqrt subtract tan tanh torch_index_select
xor
""".split()

CHLO_PLAIN = """
acos acosh asin asinh atan atanh bessel_i1e conj cosh digamma erf erf_inv erfc is_inf is_neg_inf
is_pos_inf lgamma next_after polygamma sinh square tan zeta
broadcast_add broadcast_and broadcast_atan2 broadcast_complex broadcast_divide
broadcast_maximum broadcast_minimum broadcast_multiply broadcast_next_after broadcast_or
broadcast_polygamma broadcast_power broadcast_remainder broadcast_select
broadcast_shift_left broadcast_shift_right_arithmetic broadcast_shift_right_logical
broadcast_subtract broadcast_xor broadcast_zeta
""".split()

WINDOW = "window_dimensions window_strides base_dilations window_dilations padding"
CONVOLUTION = (
    "window_strides padding lhs_dilation rhs_dilation window_reversal dimension_numbers "
    "feature_group_count batch_group_count precision_config"
)
COLLECTIVE = "replica_groups channel_handle use_global_device_ids"

STABLEHLO: Mapping[str, Row] = {
    **dict.fromkeys(PLAIN, (syntax.plain, "result_accuracy")),
    "broadcast_in_dim": (syntax.keyed, "broadcast_dimensions"),
    "case": (None, ""),
    "cholesky": (syntax.keyed, "lower"),
    "compare": (syntax.compare, "comparison_direction compare_type"),
    "composite": (
        syntax.composite,
        "name composite_attributes decomposition version",
    ),
    "concatenate": (syntax.keyed, "dimension"),
    "constant": (syntax.constant, "value"),
    "convolution": (region_syntax.convolution, CONVOLUTION),
    "custom_call": (
        syntax.custom_call,
        "call_target_name has_side_effect backend_config api_version called_computations "
        "operand_layouts result_layouts output_operand_aliases",
    ),
    "dot": (syntax.dot, "precision_config"),
    "dot_general": (syntax.dot, "dot_dimension_numbers precision_config algorithm"),
    "dynamic_broadcast_in_dim": (
        syntax.keyed,
        "broadcast_dimensions known_expanding_dimensions known_nonexpanding_dimensions",
    ),
    "dynamic_gather": (None, "dimension_numbers indices_are_sorted"),
    "dynamic_iota": (syntax.keyed, "iota_dimension"),
    "dynamic_slice": (syntax.keyed, "slice_sizes"),
    "fft": (syntax.keyed, "fft_type fft_length"),
    "gather": (None, "dimension_numbers slice_sizes indices_are_sorted"),
    "get_dimension_size": (syntax.keyed, "dimension"),
    "if": (None, ""),
    "iota": (syntax.keyed, "iota_dimension"),
    "map": (None, "dimensions"),
    "pad": (syntax.keyed, "edge_padding_low edge_padding_high interior_padding"),
    "reduce": (region_syntax.reduce, "dimensions"),
    "reduce_precision": (syntax.reduced_precision, "exponent_bits mantissa_bits"),
    "reduce_window": (None, WINDOW),
    "return": (syntax.returned, ""),
    "reverse": (syntax.keyed, "dimensions"),
    "rng": (syntax.keyed, "rng_distribution"),
    "rng_bit_generator": (syntax.keyed, "rng_algorithm"),
    "scatter": (
        None,
        "scatter_dimension_numbers indices_are_sorted unique_indices",
    ),
    "select_and_scatter": (None, "window_dimensions window_strides padding"),
    "slice": (syntax.slice_ranges, "start_indices limit_indices strides"),
    "sort": (None, "dimension is_stable"),
    "transpose": (syntax.keyed, "permutation"),
    "triangular_solve": (None, "left_side lower unit_diagonal transpose_a"),
    "uniform_dequantize": (syntax.plain, ""),
    "uniform_quantize": (syntax.plain, ""),
    "while": (region_syntax.loop, ""),
    **dict.fromkeys(
        ("all_gather", "all_reduce", "all_to_all", "collective_permute"),
        (None, COLLECTIVE),
    ),
}

CHLO: Mapping[str, Row] = {
    **dict.fromkeys(CHLO_PLAIN, (syntax.plain, "broadcast_dimensions")),
    "broadcast_compare": (
        syntax.compare,
        "comparison_direction compare_type broadcast_dimensions",
    ),
    "constant": (syntax.constant, "value"),
    "top_k": (syntax.top_k, "k"),
}


def _operation(name: str, row: Row) -> type[StableHloOp]:
    spelled, properties = row
    body: dict[str, object] = {
        "name": name,
        "__module__": __name__,
        "__doc__": f"`{name}` of the StableHLO specification.",
        # `name` is the operation's own: that of a composite is held as `name_`.
        **{
            re.sub("^name$", "name_", one): opt_prop_def(Attribute, prop_name=one)
            for one in properties.split()
        },
    }
    if spelled is not None:
        body["parse"] = classmethod(spelled)
    if name.endswith(".return"):
        body["traits"] = traits_def(IsTerminator())
    title = "".join(word.capitalize() for word in re.split(r"[._]", name))
    return irdl_op_definition(type(f"{title}Op", (StableHloOp,), body))


def operations(dialect: str, table: Mapping[str, Row]) -> Sequence[type[StableHloOp]]:
    """The classes of a table's operations."""
    return [_operation(f"{dialect}.{name}", row) for name, row in table.items()]
