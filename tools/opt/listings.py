"""What `--list-passes`, `--list-pipelines` and `--show-dialects` print."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from glow.backends.backend import get_backend
from glow.dialects.errors import UsageError
from glow.options import CompileOptions
from glow.universe import get_glow_passes, installed_backends

NAME_WIDTH = 34
LISTING_WIDTH = 80
NO_BREAK = "\0"

PassFactories = dict[str, Callable[[], type[ModulePass]]]
PassGroups = Mapping[str, Callable[[], Sequence[ModulePass]]]


def list_passes(passes: PassFactories, groups: PassGroups) -> None:
    """Print all passes with their one-line summaries: groups, ours, xDSL's."""
    ours = get_glow_passes(installed_backends)
    print("groups of passes:")
    for name, members in groups.items():
        names = ", ".join(one.name for one in members())
        print(f"  --{name:<{NAME_WIDTH}} {names}")
    print("\npasses:")
    _print_passes({name: passes[name] for name in sorted(ours) if name in passes})
    print("\npasses of xDSL:")
    _print_passes({name: passes[name] for name in sorted(passes) if name not in ours})


def _print_passes(passes: PassFactories) -> None:
    for name, factory in passes.items():
        print(f"  --{name:<{NAME_WIDTH}} {summary(factory)}".rstrip())


def summary(factory: Callable[[], type[ModulePass]]) -> str:
    """The first line of the documentation of a pass or of its module."""
    try:
        pass_class = factory()
    except ImportError as error:
        return f"(not available: {error})"
    module = sys.modules[pass_class.__module__].__doc__
    own = pass_class.__dict__.get("__doc__") or ""
    if own.startswith(f"{pass_class.__name__}("):  # written by @dataclass
        own = ""
    return _first_line(own) or _first_line(module or "")


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def list_pipelines(chosen: Sequence[CompileOptions]) -> None:
    """Print the phases of each choice's backend, passes as `glow-opt` takes them."""
    for number, options in enumerate(chosen):
        pipeline = get_backend(options.backend).pipeline(options)
        print("\n" * (number > 0) + f"backend {options.backend}:")
        for phase in pipeline:
            note = " (compiled from here)" * (phase.name == pipeline.compile_from)
            print(f"\n  {phase.name}: {phase.summary}{note}")
            print(_wrapped([flag_of(one) for one in phase.passes]), end="")


def flag_of(compiler_pass: ModulePass) -> str:
    """A pass with its options as an argument of `glow-opt`."""
    spec = compiler_pass.spec()
    options = " ".join(
        f"{name}={','.join(map(_option_text, values))}"
        for name, values in spec.parameters.items()
    )
    return f"--{spec.name}='{options}'" if options else f"--{spec.name}"


def _option_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _wrapped(flags: Sequence[str]) -> str:
    """Arguments in lines that a shell takes as one."""
    if not flags:
        return ""
    lines = textwrap.wrap(
        " ".join(flag.replace(" ", NO_BREAK) for flag in flags),
        LISTING_WIDTH,
        break_long_words=False,
        break_on_hyphens=False,
    )
    text = " \\\n    ".join(lines).replace(NO_BREAK, " ")
    return f"    {text}\n"


def list_dialects(context: Context) -> None:
    """Print the names of all dialects on one line, as mlir-opt does."""
    print(f"Available Dialects: {', '.join(_dialect_names(context))}")


def _dialect_names(context: Context) -> Iterable[str]:
    return sorted(context.registered_dialect_names)


def irdl_of(ctx: Context, name: str) -> str:
    """One of our dialects in IRDL; raises UsageError for another."""
    from glow.exporters.irdl import irdl_text

    if name not in OWN_DIALECTS:
        raise UsageError(f"--emit-irdl={name} is none of {', '.join(OWN_DIALECTS)}")
    return irdl_text(ctx.get_dialect(name))


OWN_DIALECTS = ("glow", "instr", "quant", "cpu")


def view_op_graph(module: ModuleOp) -> None:
    """Print a program as a picture to stderr, as mlir-opt does."""
    from glow.exporters.dot import dot_text

    print(dot_text(module), file=sys.stderr, end="")


def write(text: str, file: str | None) -> None:
    """Write a listing to a file, or to the standard output without one."""
    if file is None or file == "-":
        print(text, end="")
        return
    try:
        Path(file).write_text(text, encoding="utf-8")
    except OSError as error:
        reason = error.strerror or str(error)
        raise UsageError(f"cannot write '{file}': {reason.lower()}") from error
