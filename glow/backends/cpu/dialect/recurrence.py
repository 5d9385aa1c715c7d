"""A recurrent layer as steps with packed weights and gates in registers."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, TensorType, UnitAttr, i64
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    var_operand_def,
    var_result_def,
)

from glow.backends.cpu.dialect.config_attributes import (
    PanelsAttr,
    RecurrenceConfigAttr,
    check_panels,
)
from glow.dialects.attributes import Attributes
from glow.dialects.glow.convolution import check_rank
from glow.dialects.glow.fused import verify_scalar_region
from glow.dialects.node import (
    NodeOp,
    Types,
    element_of,
    fail_unless,
    public_nodes,
    tensor_type,
)


@irdl_op_definition
class RecurrenceOp(NodeOp):
    """All steps of a recurrent layer in one direction.

    A step multiplies the hidden state [B, H] with packed weights [H, G * H], and computes
    the next states of each unit from G sums, what the step's inputs give to its G gates, the
    states and one number a unit. `entering` is [S, B, G * H], `others` are more states
    [B, H] and numbers [H]. The region yields the next hidden state, then the others. Results:
    all hidden states [S, B, H], and the last of the other states.

    %y, %c = cpu.recurrence %x, %w, %h0, %c0 gates 4 {
    ^bb0(%s0: f32, ..., %x0: f32, ..., %h: f32, %c: f32):
      ...
      glow.yield %h2, %c2
    } : tensor<100x1x512xf32>, tensor<1x512xf32>
    """

    name = "cpu.recurrence"
    entering = operand_def(TensorType)
    weights = operand_def(TensorType)
    hidden = operand_def(TensorType)
    others = var_operand_def(TensorType)
    sequence = result_def(TensorType)
    last = var_result_def(TensorType)
    gates = prop_def(IntegerAttr.constr(i64))
    reverse = opt_prop_def(UnitAttr)
    config = opt_prop_def(RecurrenceConfigAttr)
    panels = opt_prop_def(PanelsAttr)
    cell = region_def("single_block")

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The sequence and the states after the last step."""
        entering, weights, hidden, *others = operands
        check_panels(attributes)
        check_rank(entering, 3, "what enters")
        check_rank(weights, 1, "packed weights")
        check_rank(hidden, 2, "the hidden state")
        steps, batch, columns = entering.get_shape()
        gates, (rows, units) = attributes.int("gates"), hidden.get_shape()
        fail_unless(
            batch == rows and columns == gates * units,
            f"{gates} gates of {hidden} do not suit {entering}",
        )
        shapes = [other.get_shape() for other in others]
        fail_unless(
            all(shape in ((batch, units), (units,)) for shape in shapes),
            f"what else a step reads must be {batch}x{units} or {units}",
        )
        states = [other for other in others if other.get_num_dims() == 2]
        sequence = tensor_type((steps, batch, units), hidden.element_type)
        return [sequence, *states]

    def verify_(self) -> None:
        """The region takes the gates' sums and inputs and all others; it yields states."""
        super().verify_()
        element = element_of(self.entering)
        gates = self.attributes_view().int("gates")
        verify_scalar_region(
            self.cell.block,
            [element] * (2 * gates) + [value.type for value in self.inputs[2:]],
            [element_of(result) for result in self.results],
        )


__all__ = public_nodes(globals())  # pyright: ignore[reportUnsupportedDunderAll]
