"""Reproducers: a program with the passes that failed on it, in mlir-opt's form.

`--mlir-pass-pipeline-crash-reproducer=FILE` writes one where a pass fails, and
`--run-reproducer` takes the passes from such a file, ours or mlir-opt's:

    module { ... }
    {-#
      external_resources: {
        mlir_reproducer: {
          pipeline: "builtin.module(cse,fold-constants)",
          disable_threading: true,
          verify_each: false
        }
      }
    #-}
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from io import StringIO
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from glow.dialects.errors import GlowError
from glow.runtime.atomic_output import atomic_path

_PIPELINE = re.compile(
    r'mlir_reproducer\s*:\s*\{[^}]*?\bpipeline\s*:\s*"((?:[^"\\]|\\.)*)"', re.DOTALL
)
_SECTION = "\n{-#\n"


def pipeline_of(text: str, name: str) -> str:
    """The pass pipeline that a reproducer asks for; `name` is its file in errors."""
    found = _PIPELINE.search(text)
    if found is None:
        raise GlowError(
            f"{name}: not a reproducer: there is no mlir_reproducer with a pipeline "
            "in its external_resources"
        )
    return re.sub(r"\\(.)", r"\1", found[1])


def copy_of(module: ModuleOp) -> ModuleOp:
    """The program as it is before passes change it."""
    # What reads weights has NumPy, for which `--help` need not wait.
    from glow.dialects.weights import clone_module
    from glow.frontends.sidecar import has_weights

    return clone_module(module) if has_weights(module) else module.clone()


def write_reproducer(
    path: Path,
    module: ModuleOp,
    passes: Sequence[ModulePass],
    *,
    text: Callable[[ModuleOp], str],
    verify_each: bool,
) -> None:
    """Write a program, which weights go into, and the passes to run on it."""
    resources = StringIO()
    from glow.frontends.inline_weights import print_resources, put_weights_inline
    from glow.frontends.sidecar import has_weights

    if has_weights(module):
        print_resources(put_weights_inline(module), resources)
    pipeline = f"builtin.module({','.join(map(str, passes))})"
    spelled = pipeline.replace("\\", "\\\\").replace('"', '\\"')
    section = (
        "  external_resources: {\n    mlir_reproducer: {\n"
        f'      pipeline: "{spelled}",\n'
        "      disable_threading: true,\n"
        f"      verify_each: {str(verify_each).lower()}\n    }}\n  }}"
    )
    with atomic_path(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        file.write(text(module).rstrip("\n"))
        file.write(f"\n{_SECTION}{section}")
        rest = resources.getvalue().removeprefix(_SECTION)
        file.write(f",\n{rest}" if rest else "\n#-}\n")
