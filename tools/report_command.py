"""`glow report`: one page about a network that opens in any browser."""

from __future__ import annotations

from pathlib import Path

from glow.dialects.numerics import WEIGHT_GROWTH
from glow.frontends.mapped_file import files_held
from glow.tools.atomic_output import atomic_path, check_output_file
from glow.tools.programs import read_program
from glow.tools.progress import report, step

RUNS = 10
"""So often a network runs for the times of its kernels."""


@files_held()
def report_model(
    model: Path,
    output: Path,
    *,
    profile: bool,
    quantize: Path | None,
    precision: str,
    numerics: str,
    threads: int | None,
    target: str = "host",
    weight_growth: float = WEIGHT_GROWTH,
) -> None:
    """Write the page about `model`, with times if `profile`."""
    check_output_file(output)
    with step(f"reading {model}"):
        module = read_program(model)
    with step("compiling"):
        from glow.backends.backend import get_backend
        from glow.compiler import lower_to
        from glow.passes.rewriting.trace import listening
        from glow.tools.report.page import Subject, names_of, report_page

        inspection = get_backend("cpu").inspection()
        traced = None
        if profile:
            traced = inspection.profiled(
                model,
                threads=threads,
                quantize=quantize or False,
                precision=precision,
                numerics=numerics,
                target=target,
                weight_growth=weight_growth,
            )
        names = names_of(module)
        with listening() as trace:
            lower_to(
                module,
                "instr",
                quantize=quantize or False,
                precision=precision,
                numerics=numerics,
                target=target,
                weight_growth=weight_growth,
            )
    times = None
    if traced is not None:
        with step("running"):
            from glow.tools.run_command import complete_inputs

            times = traced.profile(complete_inputs(traced.model.inputs, {}, 0), RUNS)
    costs = inspection.costs(module, target, times)
    kernels = inspection.kernels(module, target)
    page = report_page(Subject(model.name, names, module, costs, kernels, trace))
    with atomic_path(output) as temporary:
        temporary.write_text(page, encoding="utf-8")
    report(f"{output}: open it in a browser")
