"""`glow-opt --help` in readable groups.

xDSL's own help lists the names of all passes and all targets inside the help of two
options; here the options are grouped by what they are for, and the passes have
`--list-passes`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable

USAGE = (
    "glow-opt [options] [--PASS | --PASS='key=value ...']... [input.mlir|input.onnx|-]"
)

DESCRIPTION = """\
Runs passes on a program. Every pass is a flag, and passes run in the order given:
  glow-opt --fold-batch-norm --lower model.onnx -o lowered.mlir
Options of a pass: --PASS='key=value key2=a,b'. --list-passes lists all passes,
--list-pipelines what a backend runs.
"""

GROUPS: dict[str, tuple[str, ...]] = {
    "input": ("input_file",),
    "input and output": (
        "output_file",
        "target",
        "frontend",
        "allow_unregistered_dialect",
        "no_implicit_module",
        "split_input_file",
    ),
    "passes": (
        "passes",
        "target_triple",
        "target_cpu",
        "target_features",
        "memory_limit",
        "backend",
        "list_passes",
        "list_pipelines",
        "dump_pass_pipeline",
        "show_dialects",
        "run_reproducer",
        "pass_pipeline_crash_reproducer",
    ),
    "printing": (
        "print_op_generic",
        "print_debuginfo",
        "print_no_properties",
        "elide_elementsattrs_if_larger",
        "elide_resource_strings_if_larger",
        "use_nameloc_as_prefix",
        "syntax_highlight",
    ),
    "tracing (to stderr)": (
        "print_ir_before",
        "print_ir_before_all",
        "print_ir_after",
        "print_ir_after_all",
        "print_ir_after_change",
        "print_ir_after_failure",
        "print_ir_tree_dir",
        "pass_statistics",
        "graph_diff",
        "mlir_timing",
        "print_between_passes",
        "time_passes",
        "debug",
    ),
    "checking": (
        "verify_each",
        "verify_roundtrip",
        "disable_verify",
        "verify_diagnostics",
        "parsing_diagnostics",
        "print_op_on_diagnostic",
    ),
    "other": ("help", "version", "shrink"),
}

BETTER_HELP = {
    "input_file": "program to read; '-' or nothing: stdin",
    "output_file": "file to write; FILE.safetensors takes the weights",
    "version": "print the version and exit",
    "frontend": "read the input as this kind instead of going by its extension",
    "passes": "passes as text: -p 'a,b{key=value}'; "
    "--pass-pipeline='builtin.module(a,func.func(b))' works too; "
    "both mix with flags in the order given",
    "target": "what to print: mlir (default), llvm (LLVM IR), asm; or a target of xDSL",
    "disable_verify": "do not verify, neither the input nor the result",
    "verify_diagnostics": "compare errors with the `// expected-error {{...}}` comments "
    "of the input; without any, print errors to stdout and exit with 0",
    "print_between_passes": "same as --mlir-print-ir-after-all",
    "time_passes": "same as --mlir-timing",
}


class GroupedHelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Prints the options in the order and under the headings of `GROUPS`."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=36, width=100)

    def add_arguments(self, actions: Iterable[argparse.Action]) -> None:
        actions = [self._described(action) for action in actions]
        for title, names in self._groups(actions):
            members = [a for name in names for a in actions if a.dest == name]
            if members:
                self.end_section()
                self.start_section(title)
                super().add_arguments(members)

    @staticmethod
    def _groups(
        actions: Iterable[argparse.Action],
    ) -> Iterable[tuple[str, Iterable[str]]]:
        yield from GROUPS.items()
        known = {name for names in GROUPS.values() for name in names}
        yield "more", {action.dest for action in actions} - known

    @staticmethod
    def _described(action: argparse.Action) -> argparse.Action:
        action.help = BETTER_HELP.get(action.dest, action.help)
        return action
