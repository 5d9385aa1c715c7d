"""`glow train`: trains a model on the samples of a file, with a line of progress a second.

Ctrl-C ends the training behind the step that is being done, and what is there is saved.
"""

from __future__ import annotations

import argparse
import signal
import time
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Self

from glow.dialects.errors import UsageError
from glow.interrupts import EXIT_INTERRUPTED
from glow.options import PRECISIONS
from glow.runtime.atomic_output import check_output_file
from glow.tools.programs import check_program
from glow.tools.progress import report, step
from glow.tools.quantization_commands import at_least

if TYPE_CHECKING:
    from glow.training.loops import LoopOptions, Progress
    from glow.training.optimizers import Optimizer
    from glow.training.step import TrainStep

SECONDS = 1.0
"""Between two lines of progress."""


def add_train_command(parser: argparse.ArgumentParser) -> None:
    """Declare `glow train`."""
    add = parser.add_argument
    add("model", type=Path, help=".onnx or .mlir file, whose weights are the start")
    add(
        "--data",
        type=Path,
        required=True,
        metavar="FILE.npz",
        help="samples along the first axis: an array for each input by name, and labels",
    )
    add("--validation", type=Path, metavar="FILE.npz", help="samples to test it on")
    add("--loss", default="cross_entropy", metavar="NAME", help="(cross_entropy)")
    add("--optimizer", default="adam", metavar="NAME", help="adam, adamw, sgd, ...")
    add("--rate", type=_positive, help="of the optimizer (its own default)")
    add("--momentum", type=_positive, help="of --optimizer sgd")
    add("--weight-decay", type=_positive, help="of the optimizer (its own default)")
    add("--schedule", default="constant", help="constant, linear or cosine (constant)")
    add("--warmup", type=at_least(0), default=0, metavar="STEPS", help="rising rate")
    add("--epochs", type=at_least(1), default=1, help="times through the data (1)")
    add("--batch", type=at_least(1), default=32, help="samples a step (32)")
    add("--drop-last", action="store_true", help="no batch that is not full")
    add("--no-shuffle", action="store_true", help="samples in the order of the file")
    add("--accumulate", type=at_least(1), default=1, help="batches a step (1)")
    add("--clip-norm", type=_positive, help="the largest norm of all gradients")
    add("--clip-value", type=_positive, help="the largest element of a gradient")
    add("--output", metavar="NAME", help="the output that the loss is of")
    add("--freeze", action="append", default=[], metavar="PATTERN", help="of weights")
    add("--initialize", default="keep", help="keep, xavier or kaiming (keep)")
    add("--seed", type=at_least(0), default=0, help="of all that is random (0)")
    add("--resume", type=Path, metavar="FILE", help="checkpoint to go on from")
    add("--save", type=Path, metavar="FILE", help="write a checkpoint at the end")
    add("--export", type=Path, metavar="FILE.onnx", help="write the trained network")
    add(
        "--check-finite", action="store_true", help="stop at the first NaN, and name it"
    )
    add("--threads", type=at_least(1), help="threads to use (all cores)")
    add("--backend", default="cpu", metavar="NAME", help="who runs it (cpu)")
    add("--precision", choices=PRECISIONS, default="f32", help="of products (f32)")
    add(
        "--memory-limit",
        type=at_least(1),
        metavar="BYTES",
        help="the most that the values between nodes may take; some are computed twice",
    )
    parser.set_defaults(work=train_command)


def _positive(text: str) -> float:
    """A number, 0 or more."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf"):
        raise argparse.ArgumentTypeError(f"expected a number, 0 or more, not '{text}'")
    return number


def train_command(args: argparse.Namespace) -> int:
    """Run `glow train`; its exit status."""
    from glow.training.data import read_arrays
    from glow.training.loops import Training

    check_program(args.model)
    for path in (args.save, args.export):
        if path is not None:
            check_output_file(path)
    data, loop = read_arrays(args.data), loop_options(args)
    with step(f"compiling a step of {args.model}"):
        trained = make_step(args)
    if args.resume is not None:
        trained.load(args.resume)
    with Reporter() as reporter:
        Training(trained, data, loop, reporter).run()
    write(trained, args)
    if reporter.stopped:
        report(f"interrupted after step {trained.steps}")
        return EXIT_INTERRUPTED
    return 0


def loop_options(args: argparse.Namespace) -> LoopOptions:
    """How long, and on what."""
    from glow.training.data import read_arrays
    from glow.training.loops import LoopOptions

    path = args.validation
    return LoopOptions(
        epochs=args.epochs,
        batch_size=args.batch,
        shuffle=not args.no_shuffle,
        drop_last=args.drop_last,
        validation=None if path is None else read_arrays(path),
        **{name: getattr(args, name) for name in ("seed", "schedule", "warmup")},
    )


STEP_OPTIONS = (
    "output", "freeze", "initialize", "seed", "check_finite", "accumulate", "clip_norm",
    "clip_value", "threads", "backend", "precision", "memory_limit",
)  # fmt: skip
"""Options of the command line that a step has under the same name."""


def make_step(args: argparse.Namespace) -> TrainStep:
    """The compiled step."""
    from glow.training.step import TrainStep

    options = {name: getattr(args, name) for name in STEP_OPTIONS}
    return TrainStep(
        args.model,
        loss=args.loss,
        optimizer=optimizer_of(args),
        batch_size=args.batch,
        **options,
    )


def optimizer_of(args: argparse.Namespace) -> Optimizer:
    """The optimizer that the options ask for; UsageError for what it does not have."""
    from glow.training.optimizers import OPTIMIZERS

    if args.optimizer not in OPTIMIZERS:
        known = ", ".join(OPTIMIZERS)
        raise UsageError(
            f"unknown optimizer '{args.optimizer}'", hint=f"one of {known}"
        )
    make = OPTIMIZERS[args.optimizer]
    given = {name: getattr(args, name) for name in ("rate", "momentum", "weight_decay")}
    options = {name: value for name, value in given.items() if value is not None}
    for name in options:
        if name not in make.__dataclass_fields__:
            flag = f"--{name.replace('_', '-')}"
            raise UsageError(f"the optimizer {args.optimizer} has no {flag}")
    return make(**options)


def write(trained: TrainStep, args: argparse.Namespace) -> None:
    """Write the checkpoint and the network that were asked for."""
    if args.save is not None:
        trained.save(args.save)
        report(f"{args.save}: {trained.steps} steps")
    if args.export is not None:
        trained.export(args.export)
        report(f"{args.export}: the trained network")


class Reporter:
    """Reports progress a line a second and at the end of the last epoch; notes Ctrl-C."""

    def __init__(self) -> None:
        self.stopped = False
        self.last = time.perf_counter()

    def __call__(self, progress: Progress) -> bool:
        """Report where a second is over; whether to stop."""
        now = time.perf_counter()
        is_end = progress.ends_epoch and progress.epoch == progress.epochs
        if now - self.last >= SECONDS or is_end or self.stopped:
            self.last = now
            report(line(progress))
        return self.stopped

    def __enter__(self) -> Self:
        self._before = signal.signal(signal.SIGINT, self._interrupt)
        return self

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGINT, self._before)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        """Stop behind this step; the second time at once."""
        if self.stopped:
            raise KeyboardInterrupt
        self.stopped = True


def line(progress: Progress) -> str:
    """What is known after a step, on one line."""
    validation = progress.validation_loss
    return (
        f"epoch {progress.epoch}/{progress.epochs}, step {progress.step}: "
        f"loss {progress.loss:.5g}"
        + (f", validation {validation:.5g}" if validation is not None else "")
        + f", rate {progress.rate:.3g}, {progress.samples_per_second:.0f} samples/s"
    )
