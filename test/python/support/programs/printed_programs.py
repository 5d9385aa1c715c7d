"""A quantized program that is printed and run again computes what compiling computed.

Graph passes run again on what is quantized already, so this holds only if each of them
keeps the bits of quantized values. `test_printed_programs.py` has the cheap networks;
`PYTHONPATH=.:test/python python test/python/support/programs/printed_programs.py` takes
all, or those that it is given.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import ModelProto
from support.programs.all_networks import chosen

import glow
from benchmarks.networks import make_inputs
from glow.compiler import load
from glow.options import CompileOptions
from glow.passes.quantization.profiling.profile_file import save_profile
from glow.passes.quantization.quantize import is_quantized_module
from glow.tools.compile_command import compile_model
from glow.tools.glow_opt import run_glow_opt

Arrays = Mapping[str, np.ndarray]


def differing(model: ModelProto) -> list[str]:
    """The printed forms of a network that do not give the bits of `glow.compile`."""
    inputs = make_inputs(model, seed=1)
    with tempfile.TemporaryDirectory() as folder:
        source, profile = Path(folder, "model.onnx"), Path(folder, "profile.yaml")
        onnx.save(model, source)
        quantize: Path | bool = False
        if not is_quantized_module(load(model)):
            save_profile(glow.profile(model, [inputs]), profile)
            quantize = profile
        expected = glow.compile(model, quantize=quantize).run(inputs)
        option = f"--quantize=profile={profile}" if quantize else "--quantize"
        printed = {
            name: Path(folder, f"{name}.mlir") for name in ("graph", "opt", "lowered")
        }
        compile_model(
            source,
            "graph",
            printed["graph"],
            CompileOptions(quantize=quantize or False),
        )
        passes = ["--optimize", option]
        run_glow_opt([*passes, str(source), "-o", str(printed["opt"])])
        run_glow_opt([*passes, "--lower", str(source), "-o", str(printed["lowered"])])
        return [
            name for name, path in printed.items() if not agrees(path, inputs, expected)
        ]


def agrees(path: Path, inputs: Arrays, expected: Arrays) -> bool:
    """Whether a printed program gives these results."""
    results = glow.compile(path)(*inputs.values())
    found: Sequence[np.ndarray] = results if isinstance(results, tuple) else (results,)
    pairs = zip(found, expected.values(), strict=True)
    return all(np.array_equal(one, other, equal_nan=True) for one, other in pairs)


def main(names: Sequence[str]) -> int:
    """Check networks by name, all without one; 1 if a program differs."""
    wrong = 0
    for name, build in chosen(names).items():
        found = differing(build())
        print(
            f"{name}: {'differs: ' + ', '.join(found) if found else 'same'}", flush=True
        )
        wrong += bool(found)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
