"""The graph of a training step: the network, its loss, the gradients and the updates.

func.func @main(%x, %labels, %rate) -> %loss {
  %fc.weight = glow.variable @fc.weight ...
  %logits = ...                                   // in training mode
  %loss = glow.cross_entropy %logits, %labels
  ...                                             // gradients
  %new, ... = glow.adam %rate, %step, ...
  glow.save %new, @fc.weight
  func.return %loss
}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import count
from typing import TYPE_CHECKING, Unpack, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    f32,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, SSAValue

from glow.dialects.errors import GlowError
from glow.dialects.function_attributes import OUTPUT_NAMES
from glow.dialects.glow.state import VariableOp, variables_of
from glow.dialects.glow.storage import ConstantOp
from glow.dialects.node import tensor_type
from glow.dialects.weight_table import Array
from glow.dialects.weights import module_of, weights_of
from glow.options import CompileOptions
from glow.passes.graph.differentiate.differentiate import differentiate
from glow.passes.graph.differentiate.targets import check_loss
from glow.passes.graph.optimizers import RATE, add_input, add_updates
from glow.passes.graph.training_mode import use_batch_statistics, use_generator
from glow.passes.rewriting.node_builder import NodeBuilder, erase_dead_nodes
from glow.signature import main_function, signature_of
from glow.training.initialization import check_initialization, draw
from glow.training.losses import Loss, as_loss
from glow.training.network import Network
from glow.training.optimizers import Optimizer
from glow.training.options import StepKeywords, StepOptions, split_options

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from glow.compiler import Model

LABELS, LOSS = "labels", "loss"
"""The names of what a step takes and returns."""


def step_module(
    model: Model,
    loss: str | Loss | None,
    optimizer: Optimizer,
    **options: Unpack[StepKeywords],
) -> ModuleOp:
    """The graph of a step as a module, which compiles as any other; raises GlowError."""
    step, compilation = split_options(options)
    builder = StepBuilder(Network(model), as_loss(loss), optimizer, step)
    return builder.build(step.batch_size, compilation).module


@dataclass(frozen=True)
class StepGraph:
    """A graph, and what is known of its labels."""

    module: ModuleOp
    classes: int | None
    """How many there are, where labels are numbers of classes."""


@dataclass(frozen=True)
class StepBuilder:
    """Makes graphs of a step, for one batch size or another."""

    network: Network
    loss: Loss | None
    """None where the output is the loss."""
    optimizer: Optimizer
    options: StepOptions

    def __post_init__(self) -> None:
        """Raise GlowError for an unknown way to begin."""
        check_initialization(self.options.initialize)

    def inference(
        self,
        batch_size: int | None,
        compilation: CompileOptions,
        training: bool = False,
    ) -> ModuleOp:
        """The network alone, its parameters as variables; its dropouts in training only."""
        module = self.network.graph(batch_size, compilation, training)
        function, table = main_function(module), weights_of(module)
        drawn = draw(function, self.options.initialize, self.options.seed)
        for op in function.walk():
            if isinstance(op, VariableOp) and op.variable_name in drawn:
                name = op.variable_name
                table[name] = drawn[name]
                op.properties["value"] = SymbolRefAttr(name)
        return module

    def trained(
        self, state: Mapping[str, Array], compilation: CompileOptions
    ) -> ModuleOp:
        """The network alone, its parameters as constants of a state."""
        module = self.inference(self.options.batch_size, compilation)
        table = weights_of(module)
        for op in list(main_function(module).walk()):
            if isinstance(op, VariableOp):
                name = op.variable_name
                table[name] = state[name].copy()
                constant = ConstantOp.from_name(name, op.result.type)
                NodeBuilder(op).insert(constant)
                NodeBuilder(op).replace(constant.result)
        return module

    def evaluation(
        self, batch_size: int | None, compilation: CompileOptions
    ) -> ModuleOp:
        """The network and its loss, its parameters as variables."""
        module = self.inference(batch_size, compilation)
        function = main_function(module)
        self.add_loss(function, self.output_of(function))
        return module

    def build(self, batch_size: int | None, compilation: CompileOptions) -> StepGraph:
        """The graph of the step."""
        module = self.inference(batch_size, compilation, training=True)
        function = main_function(module)
        held = cast("TensorType[Attribute]", self.output_of(function).type)
        classes = None if self.loss is None else self.loss.classes(held)
        statistics = use_batch_statistics(function)
        loss = self.add_loss(function, self.output_of(function))
        names = self.parameters(function, statistics)
        use_generator(function, self.options.seed)
        builder, gradients = differentiate(function, loss, names)
        self.add_updates(function, gradients)
        builder.erase_unused()
        function.update_function_type()
        return StepGraph(module, classes)

    def add_updates(self, function: FuncOp, gradients: Mapping[str, SSAValue]) -> None:
        """Let the function take a rate, and update its parameters."""
        rate, options = add_input(function, RATE, tensor_type((), f32)), self.options
        limits = options.clip_value, options.clip_norm, options.accumulate
        add_updates(function, gradients, self.optimizer.updates(*limits), rate)

    def parameters(
        self, function: FuncOp, statistics: Collection[str]
    ) -> Sequence[str]:
        """What gradients are asked for: variables that are in use, and not frozen.

        Raises GlowError where there are none.
        """
        reads = [op for op in function.walk() if isinstance(op, VariableOp)]
        frozen = {*statistics, *self.frozen(variables_of(function))}
        used = dict.fromkeys(op.variable_name for op in reads if op.result.uses)
        found = [f"@{name}" for name in used if name not in frozen]
        if not found:
            raise GlowError("the network has no parameters to train")
        return found

    def frozen(self, names: Collection[str]) -> Iterator[str]:
        """The names that stay as they are; raises GlowError for a pattern of none."""
        for pattern in self.options.freeze:
            matching = [name for name in names if fnmatchcase(name, pattern)]
            if not matching:
                raise GlowError(
                    f"no parameter is called '{pattern}'",
                    hint=f"there are {', '.join(names)}",
                )
            yield from matching

    def add_loss(self, function: FuncOp, output: SSAValue) -> SSAValue:
        """Let the function return the loss alone, and take the labels that it needs."""
        last = function.body.block.last_op
        assert last is not None
        loss = output
        if self.loss is not None:
            held = cast("TensorType[Attribute]", output.type)
            taken = {info.name for info in signature_of(function).inputs}
            name = next(name for name in label_names() if name not in taken)
            labels = add_input(function, name, self.loss.label_type(held))
            loss = self.loss.add(NodeBuilder(last), output, labels)
        check_loss(loss)
        last.operands = [loss]
        function.attributes[OUTPUT_NAMES] = ArrayAttr([StringAttr(LOSS)])
        function.update_function_type()
        erase_dead_nodes(module_of(function))
        return loss

    def output_of(self, function: FuncOp) -> SSAValue:
        """The output that the loss is of; raises GlowError where that is not clear."""
        last = function.body.block.last_op
        assert last is not None
        names = [info.name for info in signature_of(function).outputs]
        chosen = self.options.output
        if chosen is None and len(names) == 1:
            return last.operands[0]
        if chosen is None:
            raise GlowError(
                f"the network has {len(names)} outputs: {', '.join(names)}",
                hint="name the one that the loss is of: output=...",
            )
        if chosen not in names:
            raise GlowError(f"no output '{chosen}'; there are {', '.join(names)}")
        return last.operands[names.index(chosen)]


def label_names() -> Iterator[str]:
    """Names for the labels, of which a network takes the first that it has not itself."""
    return (LABELS + "_" * number for number in count())
