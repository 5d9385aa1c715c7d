"""The operations of linalg in one table."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, opt_prop_def, traits_def
from xdsl.parser import Parser
from xdsl.traits import IsTerminator

from glow.dialects.foreign import ForeignOp
from glow.dialects.linalg import syntax


class LinalgOp(ForeignOp):
    """An operation of linalg on tensors."""

    @property
    def count(self) -> int:
        """How many of the operands are inputs; the rest are start values."""
        sizes = self.integers("operandSegmentSizes", ())
        return sizes[0] if sizes else len(self.operands) - len(self.results)


@irdl_op_definition
class YieldOp(ForeignOp):
    """Ends a body with the elements of the results."""

    name = "linalg.yield"
    traits = traits_def(IsTerminator())

    @classmethod
    def parse(cls, parser: Parser) -> YieldOp:
        """`linalg.yield %a, %b : f32, i64`."""
        return syntax.parse_yield(cls, parser)


@irdl_op_definition
class IndexOp(ForeignOp):
    """The position along a dimension of the iteration."""

    name = "linalg.index"
    dim = opt_prop_def(Attribute)

    @classmethod
    def parse(cls, parser: Parser) -> IndexOp:
        """`linalg.index 1 : index`."""
        return syntax.parse_index(cls, parser)


CONVOLUTIONS = """
conv_1d conv_2d conv_3d conv_1d_ncw_fcw conv_1d_nwc_wcf conv_2d_nchw_fchw conv_2d_nchw_fchw_q
conv_2d_ngchw_fgchw conv_2d_ngchw_gfchw conv_2d_ngchw_gfchw_q conv_2d_nhwc_fhwc
conv_2d_nhwc_fhwc_q conv_2d_nhwc_hwcf conv_2d_nhwc_hwcf_q conv_2d_nhwgc_gfhwc
conv_2d_nhwgc_gfhwc_q conv_3d_ncdhw_fcdhw conv_3d_ndhwc_dhwcf conv_3d_ndhwc_dhwcf_q
depthwise_conv_1d_ncw_cw depthwise_conv_1d_nwc_wc depthwise_conv_1d_nwc_wcm
depthwise_conv_2d_nchw_chw depthwise_conv_2d_nhwc_hwc depthwise_conv_2d_nhwc_hwc_q
depthwise_conv_2d_nhwc_hwcm depthwise_conv_2d_nhwc_hwcm_q depthwise_conv_3d_ncdhw_cdhw
depthwise_conv_3d_ndhwc_dhwc depthwise_conv_3d_ndhwc_dhwcm
""".split()

POOLS = """
pooling_nchw_max pooling_nchw_sum pooling_ncw_max pooling_ncw_sum pooling_ndhwc_max
pooling_ndhwc_min pooling_ndhwc_sum pooling_nhwc_max pooling_nhwc_max_unsigned pooling_nhwc_min
pooling_nhwc_min_unsigned pooling_nhwc_sum pooling_nwc_max pooling_nwc_max_unsigned
pooling_nwc_min pooling_nwc_min_unsigned pooling_nwc_sum
""".split()

PRODUCTS = """
batch_matmul batch_matvec batch_mmt4d batch_reduce_matmul batch_vecmat contract dot matmul
matmul_transpose_a matmul_transpose_b batch_matmul_transpose_a batch_matmul_transpose_b matvec
mmt4d quantized_batch_matmul quantized_matmul vecmat
""".split()

ELEMENTWISE = """
abs add ceil copy div div_unsigned elementwise elemwise_binary elemwise_unary erf exp floor log
max min mul negf powf reciprocal round rsqrt select sqrt square sub tanh
""".split()

OTHERS = """
broadcast fill fill_rng_2d generic map pack reduce softmax transpose unpack
winograd_filter_transform winograd_input_transform winograd_output_transform
""".split()

PROPERTIES = """
operandSegmentSizes indexing_maps iterator_types dilations strides permutation dimensions
dimension kind cast fun doc library_call
""".split()


def _operation(name: str) -> type[LinalgOp]:
    body: dict[str, object] = {
        "name": f"linalg.{name}",
        "__module__": __name__,
        "__doc__": f"`{name}` of linalg.",
        "parse": classmethod(syntax.parse),
        **{one: opt_prop_def(Attribute, prop_name=one) for one in PROPERTIES},
    }
    title = "".join(word.capitalize() for word in name.split("_"))
    return irdl_op_definition(type(f"{title}Op", (LinalgOp,), body))


def operations() -> Sequence[type[LinalgOp]]:
    """The classes of the table's operations."""
    names = (*CONVOLUTIONS, *POOLS, *PRODUCTS, *ELEMENTWISE, *OTHERS)
    return [_operation(name) for name in names]
