"""What bundles of small networks take of microcontrollers, and how many instructions they run.

    python -m benchmarks.bundles                           all networks, int8, Cortex-M4, for size
    python -m benchmarks.bundles digits --target cortex-m0plus riscv32 --optimize speed
    python -m benchmarks.bundles --f32

Code and RAM are those of `glow size`. Instructions are counted in Unicorn, without
those of the compiler's own runtime.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import onnx

import glow
from benchmarks.networks import embedded
from glow.bundles.sizes import BundleSizes, bundle_sizes
from glow.dialects.errors import GlowError
from glow.tools.glow import run_glow

HEAD = "| network | target | code | weights | arena | I/O | stack | instructions |"
RULE = "|---|---|--:|--:|--:|--:|--:|--:|"


def rows(
    names: Sequence[str], targets: Sequence[str], optimize: str, *, quantized: bool
) -> Iterator[str]:
    """A line of the table for each network and target."""
    for name in names:
        model = embedded.NETWORKS[name]()
        with tempfile.TemporaryDirectory() as folder:
            file, profile = Path(folder, f"{name}.onnx"), Path(folder, "profile.yaml")
            onnx.save(model, file)
            options = [f"--optimize={optimize}"]
            if quantized:
                embedded.profile_of(model).save(str(profile))
                options.append(f"--quantize={profile}")
            for target in targets:
                out = Path(folder, target)
                command = ["compile", str(file), "--emit=bundle", "-o", str(out)]
                run_glow([*command, f"--target={target}", *options])
                count = instructions(out, model)
                yield row(name, target, bundle_sizes(out), count)


def row(name: str, target: str, sizes: BundleSizes, count: str) -> str:
    """A line of the table."""
    numbers = [
        sizes.text + sizes.rodata,
        sizes.weights,
        sizes.activations,
        sizes.inputs_and_outputs,
        sizes.stack or 0,
    ]
    cells = " | ".join(f"{number:,}" for number in numbers)
    return f"| {name} | {target} | {cells} | {count} |"


def instructions(folder: Path, model: onnx.ModelProto) -> str:
    """Those of one inference; a dash for machines that Unicorn does not have."""
    try:
        bundle = glow.load(folder, emulate=True)
    except GlowError:
        return "-"
    bundle.run(embedded.sample_inputs(model))
    return f"{bundle.code.last.instructions:,}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("networks", nargs="*", metavar="NETWORK")
    parser.add_argument("--target", nargs="+", default=["cortex-m4"])
    parser.add_argument("--optimize", default="size", choices=("speed", "size"))
    parser.add_argument("--f32", action="store_true", help="without quantization")
    args = parser.parse_args()
    names = args.networks or list(embedded.NETWORKS)
    print(f"{HEAD}\n{RULE}")
    for line in rows(names, args.target, args.optimize, quantized=not args.f32):
        print(line, flush=True)


if __name__ == "__main__":
    main()
