"""Counts the instructions of int8 bundles on QEMU's boards, CMSIS-NN's functions beside them.

    python -m benchmarks.bundles_arm [--targets cortex-m4 ...] [--networks digits ...]
        [--cmsis-nn FOLDER]

Prints a table: instructions of an inference with everything in it, those of CMSIS-NN's
convolutions and matrix products of the same shapes, what the first is of the second, and whether
the outputs have the bits of the JIT. Both run in one program. Needs gcc-arm-none-eabi,
libnewlib-arm-none-eabi and qemu-system-arm; git fetches CMSIS-NN into `build/`.
"""

import argparse
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template

import onnx

from benchmarks.bundles_arm import cmsis_nn
from benchmarks.bundles_arm.cmsis_nn import Layer
from benchmarks.networks import embedded
from glow.backends.cpu import dialect as cpu
from glow.bundles.example.boards import BOARDS
from glow.compiler import load, run_phases
from glow.dialects.node import GlowOp, shape_of
from glow.options import CompileOptions
from glow.tools.glow import run_glow

HERE = Path(__file__).parent
REPOSITORY = Path("build", "cmsis_nn")
TARGETS = ("cortex-m3", "cortex-m4", "cortex-m7", "cortex-m33", "cortex-m55")
NETWORKS = ("digits", "keyword_spotting", "anomaly_detector")
PLAIN = "x86-64-v3"
"""A target whose layouts leave the shapes of layers as they are."""
CLOCK = "shift=5"
"""Nanoseconds of an instruction, as a power of two: the boards' timers are about as fast."""
SECONDS = 300


@dataclass(frozen=True)
class Count:
    """What a program printed."""

    network: int
    layers: int
    is_equal: bool


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bundles_arm")
    parser.add_argument("--targets", nargs="+", choices=TARGETS, default=TARGETS[1:])
    parser.add_argument("--networks", nargs="+", choices=NETWORKS, default=NETWORKS)
    parser.add_argument("--cmsis-nn", type=Path, default=REPOSITORY)
    args = parser.parse_args()
    repository = cmsis_nn.fetched(args.cmsis_nn).resolve()
    columns = ["network", "target", "instructions", "CMSIS-NN", "ratio", "bits"]
    print(row(columns), row(["---", "---", *["--:"] * 3, "---"]), sep="\n")
    for target in args.targets:
        with tempfile.TemporaryDirectory() as folder:
            flags = ["-mthumb", *BOARDS[target].flags.split()]
            gcc = ["arm-none-eabi-gcc", *flags]
            archive = cmsis_nn.library(repository, gcc, Path(folder))
            for name in args.networks:
                count = counted(name, target, [*gcc, str(archive)], Path(folder, name))
                ratio = f"{count.network / count.layers:.2f}"
                bits = "equal" if count.is_equal else "different"
                numbers = [f"{each:,}" for each in (count.network, count.layers)]
                print(row([name, target, *numbers, ratio, bits]), flush=True)


def counted(name: str, target: str, gcc: Sequence[str], folder: Path) -> Count:
    """A network and its layers on a board."""
    model = embedded.NETWORKS[name]()
    folder.mkdir()
    path, profile = folder / "model.onnx", folder / "profile.yaml"
    onnx.save(model, path)
    embedded.profile_of(model).save(profile)
    command = ["compile", str(path), "--emit=bundle", f"--target={target}"]
    out = folder / "out"
    command += [f"--quantize={profile}", "--name=network", "-o", str(out)]
    run_glow(command)
    layers = layers_of(path, str(profile))
    program = built(out, layers, gcc)
    board = ["-M", BOARDS[target].machine, "-icount", CLOCK, "-display", "none"]
    quiet = ["-monitor", "none", "-serial", "none"]
    console = [
        "-semihosting-config",
        "enable=on,target=native",
        "-kernel",
        str(program),
    ]
    done = subprocess.run(
        ["qemu-system-arm", *board, *quiet, *console],
        check=True,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    lines = dict(line.split() for line in done.stdout.splitlines())
    if "failed" in lines:
        raise SystemExit(f"{name} on {target}: a function returned {lines['failed']}")
    each = [int(lines[f"layer{number}"]) for number in range(len(layers))]
    return Count(int(lines["network"]), sum(each), lines["equal"] == "1")


def built(folder: Path, layers: Sequence[Layer], gcc: Sequence[str]) -> Path:
    """The program that counts, beside the files of a bundle."""
    names = [f"layer{number}" for number in range(len(layers))]
    text = Template((HERE / "count.c").read_text()).substitute(
        declarations="\n".join(f"int {name}(void);" for name in names),
        reports="\n  ".join(f'report("{name}", {name});' for name in names),
    )
    (folder / "count.c").write_text(text)
    (folder / "layers.c").write_text(cmsis_nn.source_of(layers))
    program, include = folder / "count.elf", gcc[-1]
    flags = ["-O2", "-w", "--specs=rdimon.specs", "-nostartfiles", "-T", "board.ld"]
    sources = ["startup.c", "count.c", "layers.c", "network.o", include]
    headers = [
        "-I",
        str(REPOSITORY.resolve() / "Include"),
        "-Wl,--no-warn-mismatch,-z,noexecstack",
    ]
    command = [*gcc[:-1], *flags, *headers, "-o", program.name, *sources]
    subprocess.run(command, check=True, cwd=folder)
    return program


def layers_of(path: Path, profile: str) -> list[Layer]:
    """The int8 convolutions and matmuls of a network, as it has them itself."""
    options = CompileOptions(target=PLAIN, quantize=profile)
    module = load(str(path), options, None)
    run_phases(module, "lowered", options)
    return [layer_of(op) for op in module.walk() if isinstance(op, PRODUCTS)]


PRODUCTS = (cpu.Int8Conv2dOp, cpu.Int8DepthwiseConv2dOp, cpu.Int8MatmulOp)


def layer_of(op: GlowOp) -> Layer:
    """The shape of a product."""
    image, attributes = shape_of(op.operands[0]), op.attributes_view()
    if isinstance(op, cpu.Int8MatmulOp):
        outputs = shape_of(op.results[0])[-1]
        return Layer(image[-1], outputs, (1, 1), (1, 1), (1, 1), (0, 0, 0, 0))
    is_depthwise = isinstance(op, cpu.Int8DepthwiseConv2dOp)
    channels = image[1] * image[4]
    inputs = channels if is_depthwise else attributes.int("input_channels")
    rows, columns = attributes.ints("kernel")
    down, across = attributes.ints("strides")
    top, left, bottom, right = attributes.ints("pads")
    return Layer(
        inputs,
        inputs if is_depthwise else attributes.int("output_channels"),
        (image[2], image[3]),
        (rows, columns),
        (down, across),
        (top, left, bottom, right),
        is_depthwise,
    )


def row(cells: Sequence[object]) -> str:
    """A line of a table."""
    return f"| {' | '.join(map(str, cells))} |"


if __name__ == "__main__":
    main()
