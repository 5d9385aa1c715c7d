"""`glow-opt`: runs passes on `.mlir` and `.onnx` programs, with mlir-opt's habits.

A subclass of xDSL's `xDSLOptMain` through its hooks, so that all arguments of `xdsl-opt`
remain. What differs: every pass is a flag (`pass_flags`), verification happens at the
borders unless `--verify-each`, everything about the run goes to stderr, errors are one
line, and output files appear whole or not at all.
"""

from __future__ import annotations

import argparse
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from importlib.metadata import version
from io import StringIO
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import PassPipeline
from xdsl.utils.arg_spec import parse_spec
from xdsl.utils.exceptions import ShrinkException
from xdsl.utils.target import Target

from glow.diagnostics import diagnose, run_reporting
from glow.dialects.errors import GlowError, UsageError
from glow.exporters import PROGRAM_FORMATS
from glow.frontends.kinds import kind_of
from glow.frontends.mapped_file import check_files, files_held
from glow.runtime.atomic_output import atomic_path
from glow.tools.opt import listings
from glow.tools.opt.instrumentation import Instrumentation, Selection, Statistics
from glow.tools.opt.listing_main import ListingMain
from glow.tools.opt.long_options import spelled_long
from glow.tools.opt.memory_limit import with_memory_limit
from glow.tools.opt.opt_arguments import add_glow_arguments, configure_parser
from glow.tools.opt.pass_flags import (
    fold_pipeline,
    from_spec,
    parse_passes,
    unwrap_pipeline,
)
from glow.tools.opt.reproducer import copy_of, pipeline_of, write_reproducer
from glow.tools.shape_options import import_options, refuse_for_text
from glow.tools.target_options import target_of, with_backend, with_target
from glow.universe import PASS_GROUPS, RENAMED_PASSES, installed_universe

if TYPE_CHECKING:
    from glow.tools.report.graph import Graph

TOOL = "glow-opt"
PICTURES = (".html", ".svg")


class GlowOptMain(ListingMain):
    """The driver: registration, arguments, pipeline, input and output."""

    sources: dict[str, bytes]
    """Texts that are in no file, for those who draw errors."""

    version_format = f"{TOOL} {version('glow-xdsl')} (xdsl {{xdsl_version}})"

    # Registration

    def register_all_frontends(self) -> None:
        super().register_all_frontends()
        self.available_frontends["mlir"] = self.read_mlir
        self.available_frontends["onnx"] = self.read_onnx

    def register_all_arguments(self, arg_parser: argparse.ArgumentParser) -> None:
        super().register_all_arguments(arg_parser)
        add_glow_arguments(arg_parser)
        names = [*self.available_passes, *PASS_GROUPS]
        configure_parser(arg_parser, TOOL, [f"--{name}" for name in names])

    def setup_pipeline(self) -> None:
        args = self.args
        self.instrumentation = Instrumentation(
            print_before=Selection.parse(
                args.print_ir_before_all, args.print_ir_before
            ),
            print_after=Selection.parse(
                args.print_ir_after_all
                or args.print_between_passes
                or (args.print_ir_after_change and not args.print_ir_after),
                args.print_ir_after,
            ),
            only_changes=args.print_ir_after_change,
            verify_each=args.verify_each,
            verify_borders=not args.disable_verify,
            print_module=self.print_mlir,
            print_failures=args.print_ir_after_failure,
            print_invalid=args.print_op_on_diagnostic,
            folder=args.print_ir_tree_dir,
        )
        if args.graph_diff is not None and args.graph_diff.suffix not in PICTURES:
            raise UsageError(
                f"{args.graph_diff}: --graph-diff writes {' and '.join(PICTURES)}"
            )
        self.plan_passes(args.passes)

    def plan_passes(self, text: str) -> None:
        """Make the pipeline that a text names the one that runs."""
        args = self.args
        defaults = {"backend": args.backend} if args.backend else {}
        passes = parse_passes(text, self.available_passes, PASS_GROUPS, defaults)
        if args.list_pipelines:  # For which the options are, not for passes.
            self.pipeline = PassPipeline(passes)
            return
        if args.memory_limit is not None:
            passes = with_memory_limit(passes, args.memory_limit)
        passes, args.target = with_target(passes, args.target, target_of(args))
        args.target = with_backend(passes, args.target, args.backend)
        self.pipeline = PassPipeline(passes, self.instrumentation)
        self.check_target()

    def check_target(self) -> None:
        """Raise for options that the target does not take, before any work."""
        spec = parse_spec(self.args.target)
        factory = self.available_targets[spec.name]
        if not inspect.signature(factory).parameters:
            from_spec(cast(Callable[[], type[Target]], factory)(), spec, "target")

    # Input

    def get_input_stream(self) -> tuple[IO[bytes], str]:
        if self.args.input_file == "-":
            self.args.input_file = None
        return super().get_input_stream()

    @property
    def input_path(self) -> Path | None:
        """The input file; None for stdin."""
        return Path(self.args.input_file) if self.args.input_file else None

    def read_mlir(self, chunk: IO[bytes]) -> ModuleOp:
        """The module in one chunk of MLIR text, with the weights beside the file."""
        from glow.frontends.mlir import parse_text
        from glow.frontends.sidecar import attach_sidecar

        refuse_for_text(self.args)
        text = chunk.read()
        if self.input_path is None:
            self.sources[self.get_input_name()] = b"\n" * self.chunk_line + text
        if self.args.run_reproducer:
            pipeline = pipeline_of(
                text.decode("utf-8", "replace"), self.get_input_name()
            )
            self.plan_passes(unwrap_pipeline(pipeline))
        module = parse_text(
            self.ctx,
            text,
            self.get_input_name(),
            implicit_module=not self.args.no_implicit_module,
            line_offset=self.chunk_line,
        )
        if self.input_path:
            attach_sidecar(module, self.input_path)
        return module

    def read_onnx(self, chunk: IO[bytes]) -> ModuleOp:
        """The module of an ONNX model; external data is found beside the file."""
        from glow.frontends.onnx import import_model

        model = self.input_path or chunk.read()
        return import_model(model, **import_options(self.args))

    def prepare_input(self) -> tuple[list[tuple[IO[bytes], int]], str]:
        file = self.args.input_file
        if file not in (None, "-") and not self.args.frontend:
            kind = kind_of(file)
            if kind is None:
                raise GlowError(
                    f"{file}: unknown kind of file; glow-opt reads "
                    f"{', '.join(f'.{name}' for name in self.available_frontends)}",
                    hint="name the kind with -f",
                )
            self.args.frontend = kind[1:]
        return super().prepare_input()

    def parse_chunk(
        self, chunk: IO[bytes], file_extension: str, start_offset: int = 0
    ) -> ModuleOp | None:
        self.chunk_line = start_offset
        return super().parse_chunk(chunk, file_extension, start_offset)

    # Work

    def run(self) -> None:
        if self.show_information():
            return
        with ExitStack() as stack:
            self.open_files = stack
            if self.args.verify_diagnostics:
                self.run_verifying_diagnostics()
            else:
                super().run()

    def apply_passes(self, prog: ModuleOp) -> None:
        instrumentation = self.instrumentation
        instrumentation.seconds.clear()
        if self.args.verify_roundtrip:
            # A printer has the nodes, for which `--help` need not wait.
            from glow.tools.opt.verify_roundtrip import check_roundtrip

            check_roundtrip(self.ctx, prog)
        before = self.graph_before(prog)
        reproduced = copy_of(prog) if self.args.pass_pipeline_crash_reproducer else None
        try:
            self.apply_watched_passes(prog)
        except Exception as error:
            wants_shrinking = isinstance(error, ShrinkException)
            if wants_shrinking or instrumentation.running is None:
                raise
            instrumentation.failed(prog)
            if reproduced is not None:
                self.write_reproducer(reproduced)
            raise pass_failure(instrumentation.running.name, error) from error
        check_files()
        if self.args.mlir_timing or self.args.time_passes:
            print(instrumentation.timing_table(), file=sys.stderr)
        if before is not None:
            self.write_graph_diff(before, prog)

    def apply_watched_passes(self, prog: ModuleOp) -> None:
        """Run the passes, and count their rewrites if that is asked for."""
        if not self.args.pass_statistics:
            super().apply_passes(prog)
            return
        from glow.passes.rewriting.trace import listening
        from glow.tools.opt.pattern_statistics import PatternWatch

        with listening() as trace:
            patterns = PatternWatch(trace.rewrites)
            statistics = Statistics(trace.rewrites, patterns)
            self.instrumentation.statistics = statistics
            try:
                super().apply_passes(prog)
            finally:
                patterns.unwatch()
        print(statistics.table(), file=sys.stderr)

    def write_reproducer(self, module: ModuleOp) -> None:
        """Write what `--mlir-pass-pipeline-crash-reproducer` asks for."""
        path: Path = self.args.pass_pipeline_crash_reproducer
        write_reproducer(
            path,
            module,
            self.pipeline.passes,
            text=self.print_mlir,
            verify_each=self.args.verify_each,
        )
        print(f"{TOOL}: note: {path} reproduces the failure", file=sys.stderr)

    def graph_before(self, module: ModuleOp) -> Graph | None:
        """The graph of the input, for `--graph-diff`."""
        if self.args.graph_diff is None:
            return None
        from glow.tools.report.graph import graph_of

        return graph_of(module)

    def write_graph_diff(self, before: Graph, module: ModuleOp) -> None:
        """Write what `--graph-diff` asks for."""
        from glow.tools.report.graph_diff import graph_diff

        path: Path = self.args.graph_diff
        temporary = self.open_files.enter_context(atomic_path(path))
        temporary.write_text(graph_diff(before, module, path.suffix), "utf-8")

    # Output

    @property
    def output_path(self) -> Path | None:
        """The output file; None for stdout."""
        file = self.args.output_file
        return None if file in (None, "-") else Path(file)

    def prepare_output(self) -> IO[str]:
        self.output: IO[str] = sys.stdout
        if self.output_path is not None:
            temporary = self.open_files.enter_context(atomic_path(self.output_path))
            self.output = temporary.open("w", encoding="utf-8")
        return self.output

    def output_resulting_program(self, prog: ModuleOp) -> str:
        """Write the program; what is left to write for xDSL, which is nothing of MLIR.

        Weights inside the text can be large, and go to the output piece by piece.
        """
        target = parse_spec(self.args.target).name
        if self.args.view_op_graph:
            listings.view_op_graph(prog)
        if target == "onnx":
            from glow.tools.opt.program_formats import write_onnx

            write_onnx(prog, self.output)
            return ""
        if target in PROGRAM_FORMATS:
            from glow.tools.opt.program_formats import FormatRequest, write_format

            request = FormatRequest.of(target, self.args)
            write_format(prog, request, self.output_path, self.output, self.open_files)
            return ""
        if target != "mlir":
            return super().output_resulting_program(prog)
        if (
            self.args.elide_elementsattrs_if_larger is not None
            and self.output_path is None
        ):
            return self.print_mlir(prog)
        from glow.tools.program_output import write_program

        write_program(
            prog,
            self.print_mlir,
            self.output_path,
            self.output,
            self.open_files,
            longest_resource=self.args.elide_resource_strings_if_larger,
        )
        return ""

    def print_mlir(self, module: ModuleOp) -> str:
        """The module as text, printed as the printing options say."""
        from glow.tools.opt.mlir_target import ElidingMLIRTarget, name_by_locations

        args = self.args
        if args.use_nameloc_as_prefix:
            name_by_locations(module)
        text = StringIO()
        ElidingMLIRTarget(
            print_generic_format=args.print_op_generic,
            print_properties_as_attributes=args.print_no_properties,
            print_debuginfo=args.print_debuginfo,
            syntax_highlight=args.syntax_highlight,
            elide_if_larger=args.elide_elementsattrs_if_larger,
        ).emit(self.ctx, module, text)
        return text.getvalue()


def pass_failure(name: str, error: Exception) -> GlowError:
    """The failure of pass `name`, as one line that names it."""
    diagnosis = diagnose(error)
    failure = GlowError(f"{name}: {diagnosis.message}", location=diagnosis.location)
    for note in getattr(error, "__notes__", ()):
        failure.add_note(note)
    return failure


@files_held()
def run_glow_opt(
    arguments: Sequence[str], sources: dict[str, bytes] | None = None
) -> None:
    """Run the tool on a command line (without the program's name).

    `sources` takes the texts of inputs that are no files.
    """
    names = {*installed_universe().all_passes, *PASS_GROUPS, *RENAMED_PASSES}
    tool = GlowOptMain(args=fold_pipeline(spelled_long(arguments), names))
    tool.sources = {} if sources is None else sources
    tool.run()


def main() -> None:
    """The entry point of the console script."""
    arguments = sys.argv[1:]
    sources: dict[str, bytes] = {}
    sys.exit(
        run_reporting(
            TOOL,
            lambda: run_glow_opt(arguments, sources),
            debug="--debug" in arguments,
            describe=lambda error, tool: drawn_error(error, tool, sources),
        )
    )


def drawn_error(error: BaseException, tool: str, sources: Mapping[str, bytes]) -> str:
    """What is printed of an error, drawn; drawing needs what `--help` need not wait for."""
    from glow.tools.opt.drawn_errors import drawn

    return drawn(error, tool, sources)


if __name__ == "__main__":
    main()
