"""`glow.train`: epochs over a data set, with what a user wants to see of them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Unpack, cast

import numpy as np

from glow.dialects.errors import GlowError
from glow.training.data import ArrayData, Batch, Data, Order, data_set
from glow.training.losses import Loss
from glow.training.optimizers import Optimizer
from glow.training.options import StepKeywords
from glow.training.schedules import Schedule, schedule
from glow.training.step import TrainStep

if TYPE_CHECKING:
    from glow.compiler import Model

BATCH_SIZE = 32


@dataclass(frozen=True)
class Progress:
    """What is known after a step."""

    epoch: int
    """The number of the epoch, which begins with 1."""
    epochs: int
    step: int
    """The number of the step since the training began, also before a checkpoint."""
    loss: float
    """The mean of the epoch so far."""
    rate: float
    samples_per_second: float
    ends_epoch: bool = False
    validation_loss: float | None = None
    """At the end of an epoch, where there are data for it."""


Callback = Callable[[Progress], object]
"""Is told every step; a truthy answer ends the training."""


@dataclass(frozen=True)
class LoopOptions:
    """How long a network is trained, and on what."""

    epochs: int = 1
    batch_size: int = BATCH_SIZE
    shuffle: bool = True
    seed: int = 0
    drop_last: bool = False
    schedule: str | Schedule = "constant"
    """Factors of the rate: `constant`, `linear`, `cosine`, or a function of the step's number."""
    warmup: int = 0
    """Steps in which the rate rises to the optimizer's."""
    validation: Data | None = None
    """Data whose loss is computed after each epoch, in inference mode."""
    resume: str | None = None
    """A checkpoint to go on from; its epochs are not done again."""

    def __post_init__(self) -> None:
        """Raise GlowError for counts that are none."""
        for name in ("epochs", "batch_size"):
            count = getattr(self, name)
            if not isinstance(count, int | np.integer) or count < 1:
                raise GlowError(
                    f"{name} must be a whole number, 1 or more, not {count!r}"
                )


class TrainKeywords(StepKeywords, total=False):
    """The fields of `LoopOptions`, `StepOptions` and `CompileOptions` as keyword arguments."""

    epochs: int
    shuffle: bool
    drop_last: bool
    schedule: str | Schedule
    warmup: int
    validation: Data | None
    resume: str | None


def train(
    model: Model | TrainStep,
    data: Data,
    *,
    loss: str | Loss | None = "cross_entropy",
    optimizer: Optimizer | None = None,
    callback: Callback | None = None,
    **options: Unpack[TrainKeywords],
) -> TrainStep:
    """Train a network on data, and return its step, which has the trained state.

    `data` are arrays (`(x, labels)`, samples along the first axis), an `.npz` file or mapping
    that has them by name, or an iterable of batches. `model` may be a `TrainStep`, which goes on
    from its state. A last batch of an epoch that is not full is trained on by a program of
    its own size, unless `drop_last` is given. Options are the fields of `LoopOptions`,
    `StepOptions` and `glow.CompileOptions`. Raises GlowError for what does not fit.
    """
    names = {field.name for field in fields(LoopOptions)}
    loop = LoopOptions(**{n: v for n, v in options.items() if n in names})  # pyright: ignore[reportArgumentType]
    if isinstance(model, TrainStep):
        step = model
    else:
        rest = {n: v for n, v in options.items() if n not in names}
        rest |= {"batch_size": loop.batch_size, "seed": loop.seed}
        step = TrainStep(
            model,
            loss=loss,
            optimizer=optimizer or default_optimizer(),
            **cast("StepKeywords", rest),
        )
    if loop.resume is not None:
        step.load(loop.resume)
    Training(step, data, loop, callback).run()
    return step


def default_optimizer() -> Optimizer:
    """Adam at its authors' rate."""
    from glow.training.optimizers import Adam

    return Adam()


class Training:
    """A step, its data, and where in them it is."""

    def __init__(
        self,
        step: TrainStep,
        data: Data,
        options: LoopOptions,
        callback: Callback | None,
    ) -> None:
        self.step, self.options, self.callback = step, options, callback
        order = Order(step.batch_size, options.shuffle, options.seed, options.drop_last)
        self.data = data_set(data, step.inputs, order)
        validation = options.validation
        order = replace(order, shuffle=False, drop_last=False)
        self.validation = (
            None if validation is None else data_set(validation, step.inputs, order)
        )
        self.factor = self.make_factor()
        self.losses: list[float] = []
        self.samples = 0
        self.started = time.perf_counter()

    def make_factor(self) -> Schedule:
        """The factor of the rate at a step."""
        shape = self.options.schedule
        if callable(shape):
            return shape
        if isinstance(self.data, ArrayData):
            batches = self.options.epochs * len(self.data)
            steps = batches // self.step.options.accumulate
        elif shape == "constant":
            steps = 0
        else:
            raise GlowError(
                f"the schedule '{shape}' needs to know the number of steps, which batches of an "
                "iterable do not tell",
                hint="give a function: schedule=glow.schedule('cosine', steps)",
            )
        return schedule(shape, steps, self.options.warmup)

    def run(self) -> None:
        """Do the epochs that are not done yet."""
        done, first = 0, 0
        if isinstance(self.data, ArrayData):
            done, first = divmod(self.step.batches, len(self.data))
        for epoch in range(done, self.options.epochs):
            if self.run_epoch(epoch, first):
                return
            first = 0

    def run_epoch(self, epoch: int, first: int) -> object:
        """Do an epoch from its batch of that number on; what the callback says at its end."""
        self.losses.clear()
        answer: object = None
        batches = iter(self.data.epoch(epoch, first))
        batch = next(batches, None)
        if batch is None:
            raise GlowError("the data are empty")
        while batch is not None:
            following = next(batches, None)
            answer = self.run_batch(epoch, batch, is_last=following is None)
            if answer:
                break
            batch = following
        return answer

    def run_batch(self, epoch: int, batch: Batch, *, is_last: bool) -> object:
        """Do a step; what the callback says."""
        step, number = self.step, self.step.steps + 1
        rate = step.rate_at(number) * self.factor(number)
        self.losses.append(step(*batch, rate=rate))
        self.samples += len(batch[0])
        if self.callback is None:
            return None
        return self.callback(self.progress(epoch, number, rate, is_last=is_last))

    def progress(
        self, epoch: int, number: int, rate: float, *, is_last: bool
    ) -> Progress:
        """What is known after the step of that number."""
        seconds = time.perf_counter() - self.started
        return Progress(
            epoch + 1,
            self.options.epochs,
            number,
            float(np.mean(self.losses)),
            rate,
            self.samples / max(seconds, 1e-9),
            is_last,
            self.validation_loss() if is_last else None,
        )

    def validation_loss(self) -> float | None:
        """The mean loss of the validation data, in inference mode; None without any."""
        if self.validation is None:
            return None
        losses: list[float] = []
        counts: list[int] = []
        for batch in self.validation.epoch(0):
            losses.append(self.step.loss_of(*batch))
            counts.append(len(batch[0]))
        return float(np.average(losses, weights=counts))
