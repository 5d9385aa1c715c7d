"""Counts the instructions of int8 networks on AArch64: our bundles, and XNNPACK through TFLite.

    python -m benchmarks.bundles_tflite.xnnpack --root ROOT --packages FOLDER [NETWORK ...]

The peer is Python's `ai-edge-litert` on one thread, which hands networks to XNNPACK; QEMU's user
emulation runs it as a Neoverse N1 (dot products, no i8mm) and counts all that `invoke` takes, by
the difference of few and many calls. Ours is a bundle for `neon-dotprod` in Unicorn; both take and
give bytes. Needs
`qemu-user` and GCC, TensorFlow's schema (`pip install tflite-micro`), and for AArch64:

    ROOT      an unpacked Debian with python3.11, libc6, libstdc++6 and what these need
    FOLDER    pip install --target FOLDER --platform manylinux_2_28_aarch64 --no-deps
              --only-binary=:all: ai-edge-litert "numpy<2" flatbuffers tqdm typing_extensions
"""

import argparse
import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import onnx

import glow
from benchmarks.bundles_tflite.__main__ import row, schema_module
from benchmarks.bundles_tflite.model_file import ModelWriter
from benchmarks.networks import embedded
from glow.tools.glow import run_glow

HERE = Path(__file__).parent
CPU, TARGET = "neoverse-n1", "neon-dotprod"
CALLS = 2, 2002
"""Few and many: starting Python alone takes two thousand million instructions."""

PROGRAM = """
import sys
import numpy as np
from ai_edge_litert.interpreter import Interpreter
network = Interpreter(model_path=sys.argv[1], num_threads=1)
network.allocate_tensors()
(image,) = network.get_input_details()
network.set_tensor(image["index"], np.ones(image["shape"], image["dtype"]))
for _ in range(int(sys.argv[2])):
    network.invoke()
"""

DELEGATED = "XNNPACK delegate"
"""What the peer says of itself where XNNPACK takes the network."""

CPU_FACTS = """processor\t: 0
Features\t: fp asimd aes pmull sha1 sha2 crc32 atomics fphp asimdhp asimdrdm lrcpc dcpop asimddp
CPU implementer\t: 0x41
CPU architecture: 8
CPU variant\t: 0x3
CPU part\t: 0xd0c
CPU revision\t: 1
"""
"""What the kernel of such a machine says, which XNNPACK reads; QEMU shows this machine's."""


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bundles_tflite.xnnpack")
    parser.add_argument("networks", nargs="*", metavar="NETWORK")
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--packages", type=Path, required=True)
    args = parser.parse_args()
    schema, root = schema_module(), args.root.resolve()
    describe_cpu(root)
    columns = ["network", "instructions", "XNNPACK", "ratio"]
    print(row(columns), row(["---", *["--:"] * 3]), sep="\n")
    for name in args.networks or embedded.NETWORKS:
        model = embedded.NETWORKS[name]()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "model.tflite")
            path.write_bytes(ModelWriter(model, schema).content())
            few, many = (counted(path, n, root, args.packages) for n in CALLS)
            peer = (many - few) // (CALLS[1] - CALLS[0])
            ours = bundle_instructions(model, Path(folder))
        print(row([name, f"{ours:,}", f"{peer:,}", f"{ours / peer:.2f}"]), flush=True)


def describe_cpu(root: Path) -> None:
    """Write what the CPU is where programs of the root look."""
    (root / "proc").mkdir(exist_ok=True)
    (root / "proc" / "cpuinfo").write_text(CPU_FACTS)
    cores = root / "sys" / "devices" / "system" / "cpu"
    cores.mkdir(parents=True, exist_ok=True)
    for name in ("possible", "present"):
        (cores / name).write_text("0\n")


def counted(model: Path, calls: int, root: Path, packages: Path) -> int:
    """The instructions of a process that calls a network so often."""
    folder = model.parent
    plugin, program = folder / "libcount.so", folder / "program.py"
    program.write_text(PROGRAM)
    compiler = ["gcc", "-O1", "-fPIC", "-shared", "-o", str(plugin)]
    subprocess.run([*compiler, str(HERE / "count.c")], check=True)
    python = [str(root / "usr" / "bin" / "python3.11"), str(program)]
    places = {
        "PYTHONHOME": str(root / "usr"),
        "PYTHONPATH": str(packages.resolve()),
        "PYTHONHASHSEED": "0",
    }
    emulator = ["qemu-aarch64", "-cpu", CPU, "-L", str(root), "-plugin", str(plugin)]
    done = subprocess.run(
        [*emulator, *python, str(model), str(calls)],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, **places},
    )
    if DELEGATED not in done.stderr:
        raise SystemExit(f"XNNPACK did not take the network:\n{done.stderr}")
    return int(done.stderr.split("instructions ")[-1])


def bundle_instructions(model: onnx.ModelProto, folder: Path) -> int:
    """Those of one call of our bundle."""
    path, profile = folder / "model.onnx", folder / "profile.yaml"
    onnx.save(model, path)
    embedded.profile_of(model).save(str(profile))
    quantize = f"--quantize=profile={profile} interface=integer"
    command = ["compile", str(path), "--emit=bundle", quantize]
    out = folder / "bundle"
    run_glow([*command, f"--target={TARGET}", "-o", str(out)])
    network = glow.load(out, emulate=True)
    inputs = embedded.sample_inputs(model)
    network.run({name: np.ones(x.shape, np.uint8) for name, x in inputs.items()})
    return network.code.last.instructions


if __name__ == "__main__":
    main()
