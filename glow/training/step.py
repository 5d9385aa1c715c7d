"""`TrainStep`: the forward graph, the backward graph and the updates as one compiled function.

Parameters, moments and statistics are variables of the function, which it updates in place. A
batch of another size has a program of its own; the state is that of the first, and is copied
there and back around such a call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Unpack, cast

import numpy as np
from numpy.typing import NDArray

from glow.compiled_model import CompiledModel, check_array
from glow.compiler import compile_module
from glow.dialects.errors import GlowError
from glow.dialects.weight_table import Array
from glow.garbage_collection import collection_paused
from glow.passes.graph.optimizers import CALLS, STEP
from glow.tensor_info import TensorInfo
from glow.training.checkpoint import read_checkpoint, write_checkpoint
from glow.training.finite import first_not_finite
from glow.training.inference import TrainedModel, export_network
from glow.training.losses import Loss, as_loss
from glow.training.network import Network
from glow.training.optimizers import Optimizer, Rate, as_optimizer
from glow.training.options import StepKeywords, split_options
from glow.training.program import StepBuilder

if TYPE_CHECKING:
    import os

    from glow.compiler import Model


class TrainStep:
    """One step of a training, compiled: it takes a batch, and returns the loss.

        step = glow.TrainStep("model.onnx", loss="cross_entropy", optimizer=glow.Adam(3e-3))
        loss = step(x, labels)

    `model` is an ONNX file, its bytes or proto, or a graph. The arrays of a call are the inputs
    of the network in order, then the labels; see `inputs`. The rate of the optimizer is a number
    or a function of the step's number; `rate=` of a call stands before it.
    """

    def __init__(
        self,
        model: Model,
        *,
        loss: str | Loss | None = "cross_entropy",
        optimizer: Optimizer,
        **options: Unpack[StepKeywords],
    ) -> None:
        """`loss` is None for a graph whose output is the loss already.

        Options are the fields of `StepOptions` and `glow.CompileOptions`.

        Raises GlowError for what cannot be trained.
        """
        own, self.compilation = split_options(options)
        self.options, self.optimizer = own, as_optimizer(optimizer)
        self.builder = StepBuilder(Network(model), as_loss(loss), optimizer, own)
        self._programs: dict[int, CompiledModel] = {}
        self.model = self._compile(own.batch_size)
        """The program of the first batch size, which has the state."""
        self._state = MappingProxyType(dict(self.model.variables))
        self._shapes = [info.shape for info in self.inputs]
        self._rate = np.zeros((), np.float32)
        self._loss = np.zeros((), self.model.outputs[0].dtype)
        self._rates = make_rates(optimizer.rate)
        self._trained: list[CompiledModel] = []
        self._losses: dict[int, TrainedModel] = {}

    @collection_paused()
    def _compile(self, batch_size: int | None) -> CompiledModel:
        graph = self.builder.build(batch_size, self.compilation)
        self._classes = graph.classes
        model = compile_module(graph.module, self.compilation)
        shape = model.inputs[0].shape
        self._programs[shape[0] if shape else 0] = model
        return model

    def __repr__(self) -> str:
        takes = ", ".join(map(str, self.inputs))
        return f"<glow.TrainStep ({takes}), {self.steps} steps done>"

    @property
    def inputs(self) -> tuple[TensorInfo, ...]:
        """What a call takes: the inputs of the network, and the labels."""
        return self.model.inputs[:-1]

    @property
    def steps(self) -> int:
        """The number of steps that were done."""
        return int(self._state[STEP])

    @property
    def batches(self) -> int:
        """The number of batches that were seen: several a step with `accumulate`."""
        calls = self._state.get(CALLS)
        more = 0 if calls is None else int(calls)
        return self.steps * self.options.accumulate + more

    @property
    def batch_size(self) -> int:
        """The batch size of the first program."""
        return next(iter(self._programs))

    def rate_at(self, step: int) -> float:
        """The optimizer's rate at the step of that number, which begins with 1."""
        return self._rates(step)

    def state(self) -> Mapping[str, Array]:
        """Parameters, moments, statistics and counters by name: views, which may be written."""
        return self._state

    def __call__(self, *arrays: Array, rate: float | None = None) -> float:
        """The loss of a batch, whose gradients have updated the state.

        Raises GlowError for arrays that do not fit, for labels out of range, and with
        `check_finite` for a loss or a new state that is not finite; the state is that of
        before then.
        """
        model = self.model
        for array, shape in zip(arrays, self._shapes, strict=False):
            if np.shape(array) != shape:
                model = self._program_for(arrays)
                break
        self._rate[...] = self._rates(self.steps + 1) if rate is None else rate
        before = self._copy() if self.options.check_finite else None
        if model is not self.model:
            move(self._state, model.variables)
        inputs = fit(arrays, model.inputs[:-1])
        self._check_labels(inputs[-1])
        model.run_into([*inputs, self._rate], [self._loss])
        if model is not self.model:
            move(model.variables, self._state)
        if before is not None:
            self._check(before, inputs)
        return self._loss.item()

    def _program_for(self, arrays: Sequence[Array]) -> CompiledModel:
        """The program for the batch size of arrays, which is compiled when it comes first."""
        first = np.shape(arrays[0])
        size = first[0] if first else 0
        wanted = self._shapes[0]
        if first[1:] != wanted[1:] or len(first) != len(wanted) or not size:
            check_array("input", self.inputs[0], arrays[0])
        return self._programs.get(size) or self._compile(size)

    def _check_labels(self, labels: Array) -> None:
        """Raise GlowError for classes that the network does not have."""
        classes = self._classes
        if classes is None or not labels.size:
            return
        # Negative numbers are the largest without a sign.
        if labels.view(np.uint64).max() < classes:
            return
        loss = self.builder.loss
        ignored = None if loss is None else loss.ignored
        numbers = cast("NDArray[np.int64]", labels)
        outside = (numbers < 0) | (numbers >= classes)
        wrong = numbers[outside & (numbers != ignored)]
        if wrong.size:
            raise GlowError(
                f"label {wrong[0]} is out of range: the network has {classes} classes"
            )

    def _copy(self) -> dict[str, Array]:
        return {name: array.copy() for name, array in self._state.items()}

    def _check(self, before: Mapping[str, Array], inputs: Sequence[Array]) -> None:
        """Raise GlowError where the loss or the new state is not finite, and undo the step."""
        if np.isfinite(self._loss) and all(map(is_finite, self._state.values())):
            return
        number, loss = self.steps, self._loss.item()
        move(before, self._state)
        size = len(inputs[0]) if inputs[0].ndim else None
        graph = self.builder.build(size, self.compilation)
        found = first_not_finite(graph.module, [*inputs, self._rate], dict(before))
        raise GlowError(f"step {number}: the loss is {loss:g}, and {found}")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the whole state; the file appears when it is complete."""
        write_checkpoint(self._state, self.made, Path(path))

    def load(self, path: str | os.PathLike[str]) -> None:
        """Take the state of a file that `save` wrote.

        Training goes on with the same bits. Raises GlowError for a checkpoint of another
        network or optimizer, with the first name and shape that differ.
        """
        read_checkpoint(self._state, self.made, Path(path))

    @property
    def made(self) -> str:
        """How the state came about, for those who read a checkpoint."""
        return self.optimizer.name

    def inference(self) -> CompiledModel:
        """The trained network, compiled; it follows the parameters as they change."""
        module = self.builder.inference(self.batch_size or None, self.compilation)
        return TrainedModel(compile_module(module, self.compilation), self._state)

    def evaluate(self, *arrays: Array) -> Array | tuple[Array, ...]:
        """The outputs of the trained network for a batch of inputs."""
        if not self._trained:
            self._trained.append(self.inference())
        return self._trained[0](*arrays)

    def loss_of(self, *arrays: Array) -> float:
        """The loss of a batch in inference mode, which changes nothing."""
        size = len(arrays[0]) if np.ndim(arrays[0]) else 0
        model = self._losses.get(size)
        if model is None:
            module = self.builder.evaluation(size or None, self.compilation)
            compiled = compile_module(module, self.compilation)
            model = self._losses[size] = TrainedModel(compiled, self._state)
        inputs = fit(arrays, model.inputs)
        self._check_labels(inputs[-1])
        return float(np.asarray(model(*inputs)))

    def export(self, path: str | os.PathLike[str]) -> None:
        """Write the trained network as an ONNX file, with the names of the given one."""
        export_network(self.builder, self._state, Path(path))


def make_rates(rate: Rate) -> Callable[[int], float]:
    """A rate as a function of the step's number."""
    return rate if callable(rate) else lambda step: rate


def is_finite(array: Array) -> bool:
    """Whether all floats of an array are numbers."""
    return array.dtype.kind != "f" or bool(np.isfinite(array).all())


def move(source: Mapping[str, Array], target: Mapping[str, Array]) -> None:
    """Give variables the values of those of the same names."""
    for name, array in target.items():
        array[...] = source[name]


def fit(arrays: Sequence[Array], infos: Sequence[TensorInfo]) -> Sequence[Array]:
    """The arrays in the dtypes that a program takes; raises GlowError where they do not fit.

    Floats become floats of another size and integers integers; nothing else is converted.
    """
    if len(arrays) != len(infos):
        names = ", ".join(info.name for info in infos)
        raise GlowError(f"a step takes {names}, not {len(arrays)} arrays")
    return [fit_one(array, info) for array, info in zip(arrays, infos, strict=True)]


def fit_one(array: Array, info: TensorInfo) -> Array:
    """An array in the dtype of an input, in order; raises GlowError where it does not fit."""
    if type(array) is not np.ndarray or array.dtype != info.dtype:
        array = np.asarray(array)
        kinds = "iub" if info.dtype.kind in "iu" else "f"
        if array.dtype.kind in kinds:
            array = array.astype(info.dtype)
        array = check_array("input", info, array)
    return array if array.flags.c_contiguous else np.ascontiguousarray(array)
