"""Updates of variables by their gradients, as nodes of an optimizer and saves.

    add_updates(function, {"@w": %w.grad}, Updates(glow.SgdOp, {"momentum": 0.9}), %rate)
  adds
    %step = glow.variable @step : tensor<f32>
    %step_number = glow.add %step, 1
    %w.momentum_buffer = glow.variable @w.momentum_buffer : tensor<4xf32>
    %0, %1 = glow.sgd %rate, %step_number, %w, %w.grad, %w.momentum_buffer momentum 0.9
    glow.save %0, @w
    glow.save %1, @w.momentum_buffer
    glow.save %step_number, @step

Gradients may be clipped, by value or by the norm of all together, and accumulated: then calls
sum them up (`@w.grad_sum`, `@calls`), and every n-th one updates by their mean.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, StringAttr, TensorType, f32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.hints import isa

from glow.dialects import glow
from glow.dialects.attributes import Attributes, AttributeValue, to_attribute
from glow.dialects.errors import GlowError
from glow.dialects.function_attributes import INPUT_NAMES
from glow.dialects.glow.state import variables_of
from glow.dialects.node import shape_of, tensor_type
from glow.passes.rewriting.node_builder import NodeBuilder, element_type
from glow.passes.rewriting.tensor_builder import Tensors

RATE, STEP, CALLS = "rate", "step", "calls"
"""The input of the rate, and the variables that count steps and calls since the last one."""

SMALLEST_NORM = 1e-6
"""Added to the norm of gradients, as torch.nn.utils.clip_grad_norm_ does."""

NODES: Mapping[str, tuple[type[glow.OptimizerOp], Mapping[str, AttributeValue]]] = {
    "sgd": (glow.SgdOp, {}),
    "adam": (glow.AdamOp, {}),
    "adamw": (glow.AdamOp, {"decoupled": True, "weight_decay": 0.01}),
    "rmsprop": (glow.RmspropOp, {}),
    "adagrad": (glow.AdagradOp, {}),
    "lamb": (glow.LambOp, {}),
}
"""Optimizer to node and what its attributes are where nothing is said."""


LIMITS = ("clip_value", "clip_norm", "accumulate")
"""Options of updates with any optimizer."""

SPECIFICATION = re.compile(r"(?P<name>\w+)(\{(?P<options>[^{}]*)\})?")
TRUTH = {"true": True, "false": False}


@dataclass(frozen=True)
class Updates:
    """An optimizer's node with its attributes, and what happens to gradients before it."""

    node: type[glow.OptimizerOp]
    attributes: Mapping[str, AttributeValue] = field(
        default_factory=dict[str, AttributeValue]
    )
    clip_value: float | None = None
    """The largest size of an element of a gradient."""
    clip_norm: float | None = None
    """The largest norm of all gradients together."""
    accumulate: int = 1
    """How many calls make a step."""

    def __post_init__(self) -> None:
        """Raise GlowError for limits that make no sense."""
        for name in ("clip_value", "clip_norm"):
            limit = getattr(self, name)
            if limit is not None and not limit > 0:
                raise GlowError(f"{name} must be positive, not {limit}")
        if self.accumulate < 1:
            raise GlowError(f"accumulate must be 1 or more, not {self.accumulate}")

    def moments(self) -> tuple[str, ...]:
        """The names of what the optimizer keeps of each parameter."""
        definition = self.node.get_irdl_definition()
        given = {
            name: attribute
            for name, value in self.attributes.items()
            if (attribute := to_attribute(value, definition.properties[name]))
        }
        return self.node.moments(Attributes(definition, given))


def parse_updates(text: str) -> Updates:
    """The updates of a text as `adam` or `adam{beta1=0.8 amsgrad clip_norm=1e-1}`.

    Raises GlowError for an unknown optimizer or option, and for what is no number.
    """
    found = SPECIFICATION.fullmatch(text)
    if found is None or found["name"] not in NODES:
        raise GlowError(f"unknown optimizer '{text}', expected {', '.join(NODES)}")
    node, defaults = NODES[found["name"]]
    settings, limits = {**defaults}, dict[str, AttributeValue]()
    known = [name for name in node.get_irdl_definition().properties if name.islower()]
    for word in (found["options"] or "").split():
        name, _, value = word.partition("=")
        if name not in (*known, *LIMITS):
            raise GlowError(
                f"optimizer '{found['name']}' has no option '{name}'; it has "
                f"{', '.join((*known, *LIMITS))}"
            )
        chosen = limits if name in LIMITS else settings
        chosen[name] = number_of_option(name, value or "true")
    return Updates(node, settings, **limits)  # pyright: ignore[reportArgumentType]


def number_of_option(name: str, text: str) -> AttributeValue:
    """An option's number or truth value."""
    kind = int if name == "accumulate" else float
    try:
        return TRUTH[text] if text in TRUTH else kind(text)
    except ValueError:
        raise GlowError(f"option '{name}' must be a number, not '{text}'") from None


def add_input(function: FuncOp, name: str, held: TensorType[Attribute]) -> SSAValue:
    """A new last argument of a function."""
    block = function.body.block
    argument = block.insert_arg(held, len(block.args))
    argument.name_hint = name
    names = function.attributes.get(INPUT_NAMES)
    if isa(names, ArrayAttr[StringAttr]):
        function.attributes[INPUT_NAMES] = ArrayAttr([*names.data, StringAttr(name)])
    function.update_function_type()
    return argument


def add_updates(
    function: FuncOp,
    gradients: Mapping[str, SSAValue],
    updates: Updates,
    rate: SSAValue,
) -> None:
    """Let a function save what an optimizer makes of variables (`@name`) by gradients.

    Raises GlowError for what is no variable.
    """
    if not gradients:
        raise GlowError("the loss depends on no variable that could be updated")
    reads = {f"@{name}": op for name, op in variables_of(function).items()}
    for name in gradients:
        if name not in reads:
            raise GlowError(
                f"'{name}' is no variable, and cannot be updated",
                hint="make it one, for example with convert-constants-to-variables",
            )
    parameters = {name[1:]: reads[name].results[0] for name in gradients}
    UpdateBuilder(function, updates).add(parameters, list(gradients.values()), rate)


class UpdateBuilder:
    """Adds the nodes of a step at the end of a function."""

    def __init__(self, function: FuncOp, updates: Updates) -> None:
        last = function.body.block.last_op
        assert last is not None
        self.updates = updates
        self.builder = NodeBuilder(last)
        self.formula = Tensors(self.builder)
        self.is_last: SSAValue | None = None
        """Whether this call updates; None if every call does."""

    def variable(self, name: str, held: Attribute) -> SSAValue:
        """The value of a new variable, zero at first."""
        read = glow.VariableOp.of(name, cast("TensorType[Attribute]", held))
        return self.builder.insert(read).results[0]

    def save(self, new: SSAValue, old: SSAValue, name: str) -> None:
        """Save a value; calls that do not update keep the old one."""
        if self.is_last is not None:
            new = self.builder.node(glow.SelectOp, self.is_last, new, old)
        self.builder.insert(glow.SaveOp.of(new, name))

    def add(
        self,
        parameters: Mapping[str, SSAValue],
        gradients: Sequence[SSAValue],
        rate: SSAValue,
    ) -> None:
        """One step of all parameters."""
        if self.updates.accumulate > 1:
            gradients = self.accumulated(parameters, gradients)
        gradients = self.clipped(gradients)
        step = self.variable(STEP, tensor_type((), f32))
        number = self.formula.add(step, self.formula.number(1, step))
        number.name_hint = "step_number"
        old = {**parameters}
        for moment in self.updates.moments():
            for name, parameter in parameters.items():
                moment_name = f"{name}.{moment}"
                old[moment_name] = self.variable(moment_name, parameter.type)
        moments = list(old.values())[len(parameters) :]
        node = self.updates.node.build_node(
            [rate, number, *parameters.values(), *gradients, *moments],
            **self.updates.attributes,  # pyright: ignore[reportArgumentType]
        )
        self.builder.insert(node)
        for (name, value), new in zip(old.items(), node.results, strict=True):
            self.save(new, value, name)
        self.save(number, step, STEP)

    def accumulated(
        self, parameters: Mapping[str, SSAValue], gradients: Sequence[SSAValue]
    ) -> list[SSAValue]:
        """The means of gradients over calls; the last of which begins anew."""
        formula, count = self.formula, float(self.updates.accumulate)
        calls = self.variable(CALLS, tensor_type((), f32))
        number = formula.add(calls, formula.number(1, calls))
        last = formula.apply(glow.LessEqualOp, formula.number(count, calls), number)
        found = self.sums(zip(parameters, gradients, strict=True))
        for name, new in [*found, (CALLS, number)]:
            rest = formula.apply(glow.SelectOp, last, formula.number(0, new), new)
            self.builder.insert(glow.SaveOp.of(rest, name))
        self.is_last = last
        return [formula.mul(new, formula.number(1 / count, new)) for _, new in found]

    def sums(self, pairs: Iterable[tuple[str, SSAValue]]) -> list[tuple[str, SSAValue]]:
        """The sums of gradients since the last step, by the names of their variables."""
        found: list[tuple[str, SSAValue]] = []
        for name, gradient in pairs:
            old = self.variable(f"{name}.grad_sum", gradient.type)
            found.append((f"{name}.grad_sum", self.formula.add(old, gradient)))
        return found

    def clipped(self, gradients: Sequence[SSAValue]) -> list[SSAValue]:
        """The gradients within the limits, that of elements first."""
        formula, found = self.formula, list(gradients)
        if (limit := self.updates.clip_value) is not None:
            found = [formula.clamp(gradient, -limit, limit) for gradient in found]
        if (limit := self.updates.clip_norm) is not None:
            total = reduce(formula.add, map(self.square_sum, found))
            norm = formula.apply(glow.SqrtOp, total)
            size = formula.add(norm, formula.number(SMALLEST_NORM, norm))
            factor = formula.div(formula.number(limit, size), size)
            factor = formula.apply(glow.MinOp, factor, formula.number(1, factor))
            found = [
                formula.mul(gradient, self.like(factor, gradient)) for gradient in found
            ]
        return found

    def square_sum(self, value: SSAValue) -> SSAValue:
        """The sum of the squares of all elements, in f32."""
        square = self.formula.mul(value, value)
        axes = list(range(len(shape_of(value))))
        if axes:
            square = self.builder.node(glow.ReduceSumOp, square, axes=axes)
        return self.converted(square, f32)

    def like(self, number: SSAValue, value: SSAValue) -> SSAValue:
        """A number in the element type of a value."""
        return self.converted(number, element_type(value))

    def converted(self, number: SSAValue, element: Attribute) -> SSAValue:
        """A number in an element type."""
        if element_type(number) == element:
            return number
        held = tensor_type((), element)
        return self.builder.create(glow.ConvertOp, [number], {}, types=[held])
