"""`glow report`: one page about a network that opens in any browser."""

from __future__ import annotations

from pathlib import Path

from glow.backends.backend import get_backend
from glow.frontends.mapped_file import files_held
from glow.options import CompileOptions
from glow.runtime.atomic_output import atomic_path, check_output_file
from glow.tools.programs import read_program
from glow.tools.progress import report, step

RUNS = 10
"""So often a network runs for the times of its kernels."""


@files_held()
def report_model(
    model: Path, output: Path, options: CompileOptions, *, profile: bool
) -> None:
    """Write the page about `model`, with times if `profile`."""
    check_output_file(output)
    backend = get_backend(options.backend)
    inspection, pipeline = backend.inspection(), backend.pipeline(options)
    with step(f"reading {model}"):
        module = read_program(model, options)
    with step("compiling"):
        from glow.compiler import lower
        from glow.passes.rewriting.trace import listening
        from glow.tools.report.page import Subject, names_of, report_page

        traced = inspection.profiled(model, options) if profile else None
        names = names_of(module)
        with listening() as trace:
            lower(module, pipeline.compile_from, options)
    times = None
    if traced is not None:
        with step("running"):
            from glow.tools.run_command import complete_inputs

            times = traced.profile(complete_inputs(traced.model.inputs, {}, 0), RUNS)
    costs = inspection.costs(module, options.target, times)
    kernels = inspection.kernels(module, options.target)
    page = report_page(Subject(model.name, names, module, costs, kernels, trace))
    with atomic_path(output) as temporary:
        temporary.write_text(page, encoding="utf-8")
    report(f"{output}: open it in a browser")
