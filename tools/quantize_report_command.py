"""`glow quantize-report`: shows which layers lose accuracy in 8 bits."""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from glow.dialects.weight_table import Array
from glow.frontends.mapped_file import files_held
from glow.passes.quantization.options import QuantizationOptions
from glow.runtime.atomic_output import atomic_path, check_output_file
from glow.tools.profile_command import read_batches
from glow.tools.programs import read_program
from glow.tools.progress import report, show_progress

SYNTHETIC_BATCHES = 2
SEED = 0

Batches = list[dict[str, Array]]


@files_held()
def report_model(
    model: Path,
    profile: Path,
    data: Path | None,
    batches: int,
    options: QuantizationOptions,
    output: Path,
) -> None:
    """Measure `model`, print a table and write a page to `output`."""
    from glow.passes.quantization.profiling.profile import Profile
    from glow.quantization_report import report_quantization
    from glow.tools.quantization_page import quantization_page, text_table

    check_output_file(output)
    module = read_program(model)
    known = Profile.load(profile)
    samples = read_samples(module, data, batches)
    found = report_quantization(module, known, samples, options, bar())
    print(text_table(found))
    title = f"Quantization of {model.name}"
    with atomic_path(output) as temporary:
        temporary.write_text(quantization_page(title, found), encoding="utf-8")
    report(f"{output}: open it in a browser")


def read_samples(module: ModuleOp, data: Path | None, count: int) -> Batches:
    """The first batches of a data set; without one seeded random inputs, which it says."""
    from glow.passes.quantization.profiling.ranges import synthetic_inputs
    from glow.profiling import check_inputs
    from glow.signature import main_function, signature_of

    inputs = signature_of(main_function(module)).inputs
    names = [info.name for info in inputs]
    if data is not None:
        shapes = [info.shape for info in inputs]
        found = list(islice(read_batches(data, names, shapes), count))
        for number, batch in enumerate(found):
            check_inputs(batch, number)
        return found
    report(
        f"warning: no --data: measuring on {SYNTHETIC_BATCHES} random inputs (seed {SEED})"
    )
    generator = np.random.default_rng(SEED)
    function = main_function(module)
    return [
        dict(zip(names, synthetic_inputs(function, generator), strict=True))
        for _ in range(SYNTHETIC_BATCHES)
    ]


def bar() -> Callable[[int, int], None] | None:
    """Shows how many layers are done, on a terminal only."""
    if not sys.stderr.isatty():
        return None
    return lambda done, total: show_progress("measuring", done, total)
