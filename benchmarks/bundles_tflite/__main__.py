"""What int8 bundles for a Cortex-M4 take, TensorFlow Lite Micro beside them.

    python -m benchmarks.bundles_tflite [NETWORK ...] [--repositories FOLDER]

Prints a table in bytes: code is without weights and without the C library's start-up, RAM is
activations, inputs and outputs, and of ours the stack too. Networks are the same layers with the
same weights, and read and write bytes. Needs
`pip install tflite-micro` for TensorFlow's schema, gcc-arm-none-eabi,
libnewlib-arm-none-eabi and qemu-system-arm; git fetches the sources into `build/`.
"""

import argparse
import tempfile
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType

import onnx

from benchmarks.bundles_tflite import tflm
from benchmarks.bundles_tflite.model_file import ModelWriter
from benchmarks.bundles_tflite.tflm import CPU, Compiler, Taken
from benchmarks.networks import embedded
from glow.bundles.sizes import bundle_sizes
from glow.tools.glow import run_glow

REPOSITORIES = Path("build", "tflm")
SCHEMA = "tflite_micro.tensorflow.lite.micro.python.schema_py_generated"
COLUMNS = ("network", "code", "RAM", "TFLM code", "TFLM RAM", "code + RAM / TFLM's")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bundles_tflite")
    parser.add_argument("networks", nargs="*", metavar="NETWORK")
    parser.add_argument("--repositories", type=Path, default=REPOSITORIES)
    args = parser.parse_args()
    schema = schema_module()
    repositories = tflm.fetched(args.repositories)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        networks = args.networks or list(embedded.NETWORKS)
        ours = {network: bundle(network, folder / network) for network in networks}
        compiler = Compiler(folder / networks[0] / "bundle")
        archive = tflm.library(repositories, compiler, folder)
        print(row(COLUMNS), row(["---", *["--:"] * 5]), sep="\n")
        for network in networks:
            writer = ModelWriter(embedded.NETWORKS[network](), schema)
            content = writer.content()
            peer = tflm.taken(
                content, writer.operator_names, repositories, compiler, archive
            )
            print(row(cells(network, ours[network], peer)), flush=True)


def schema_module() -> ModuleType:
    """TensorFlow's schema; raises SystemExit where it is not installed."""
    try:
        return import_module(SCHEMA)
    except ModuleNotFoundError:
        raise SystemExit("pip install tflite-micro") from None


def bundle(name: str, folder: Path) -> Taken:
    """What our bundle takes."""
    folder.mkdir()
    model, out = embedded.NETWORKS[name](), folder / "bundle"
    path, profile = folder / "model.onnx", folder / "profile.yaml"
    onnx.save(model, path)
    embedded.profile_of(model).save(str(profile))
    options = ["--optimize=size", "--name=network", f"--target={CPU}"]
    quantize = f"--quantize=profile={profile} interface=integer"
    command = ["compile", str(path), "--emit=bundle", quantize]
    run_glow([*command, *options, "-o", str(out)])
    sizes = bundle_sizes(out)
    ram = sizes.activations + sizes.inputs_and_outputs + (sizes.stack or 0)
    return Taken(sizes.text + sizes.rodata, ram)


def cells(name: str, ours: Taken, peer: Taken) -> list[str]:
    """What a line of the table says."""
    numbers = [ours.code, ours.ram, peer.code, peer.ram]
    ratio = (ours.code + ours.ram) / (peer.code + peer.ram)
    return [name, *(f"{number:,}" for number in numbers), f"{ratio:.2f}"]


def row(cells: Sequence[str]) -> str:
    """A line of a table."""
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
