"""Times bundles for WebAssembly and onnxruntime-web in one run of Node, on one thread.

    python -m benchmarks.bundles_web [--rounds 400] [--networks digits ...] [--no-peer]

Prints a table: microseconds of a call (the least of all rounds, which take turns), what a bundle
takes of the peer's time, int8 of our own f32, and the bytes of the module. npm fetches the peer
into `build/`.
"""

import argparse
import json
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx

import glow
from benchmarks.networks import embedded
from glow.tools.glow import run_glow

PEER = "onnxruntime-web"
VERSION = "1.30.0"
HERE = Path(__file__).parent
MODULES = Path("build", "bundles_web")

TARGET = "wasm-simd"
F32, INT8 = "f32", "int8"
NETWORKS = ("digits", "keyword_spotting", "mobilenet_v2_quarter", "anomaly_detector")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bundles_web")
    parser.add_argument("--rounds", type=int, default=400)
    parser.add_argument("--seconds", type=float, default=0.001, help="of a turn")
    parser.add_argument("--networks", nargs="+", choices=NETWORKS, default=NETWORKS)
    parser.add_argument("--target", default=TARGET)
    parser.add_argument("--no-peer", action="store_true")
    args = parser.parse_args()
    node = shutil.which("node")
    if node is None:
        raise SystemExit("node is missing")
    modules = None if args.no_peer else fetched()
    with tempfile.TemporaryDirectory() as folder:
        networks = [prepared(name, args.target, Path(folder)) for name in args.networks]
        config = Path(folder, "config.json")
        options = {"rounds": args.rounds, "seconds": args.seconds}
        config.write_text(
            json.dumps({**options, "modules": modules, "networks": networks})
        )
        command = [node, str(HERE / "compare.mjs"), str(config)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
        results = json.loads(done.stdout)
        sizes = [module_bytes(network["bundles"]) for network in networks]
    print("\n".join(table(results, sizes)))


def fetched() -> str:
    """The folder with the peer, which npm fetches once."""
    if not (MODULES / "node_modules" / PEER).exists():
        MODULES.mkdir(parents=True, exist_ok=True)
        command = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund"]
        subprocess.run(
            [*command, "--prefix", str(MODULES), f"{PEER}@{VERSION}"], check=True
        )
    return str(MODULES.resolve())


def prepared(name: str, target: str, folder: Path) -> dict[str, object]:
    """A network with its bundles, compiled."""
    model = embedded.NETWORKS[name]()
    path, profile = folder / f"{name}.onnx", folder / f"{name}.yaml"
    onnx.save(model, path)
    embedded.profile_of(model).save(profile)
    bundles: dict[str, str] = {}
    for label, options in ((F32, []), (INT8, [f"--quantize={profile}"])):
        out = folder / f"{name}.{label}"
        command = ["compile", str(path), "--emit=bundle", f"--target={target}"]
        run_glow([*command, *options, "--name=network", "-o", str(out)])
        bundles[label] = str(out / "network.mjs")
    shape = glow.compile(model).inputs[0].shape
    return {"name": name, "model": str(path), "shape": shape, "bundles": bundles}


def module_bytes(bundles: dict[str, str]) -> dict[str, int]:
    """The size of each module."""
    return {
        label: Path(file).with_suffix(".wasm").stat().st_size
        for label, file in bundles.items()
    }


def table(
    results: Sequence[dict[str, dict[str, float]]], sizes: Sequence[dict[str, int]]
) -> list[str]:
    """The lines of the results in Markdown."""
    peer = PEER in results[0]["microseconds"]
    columns = ["network", "f32 us", "int8 us", "int8 / f32", "f32 KB", "int8 KB"]
    columns += [f"{PEER} us", "f32 / peer", "f32 error"] * peer
    lines = [row(columns), row(["---", *["--:"] * (len(columns) - 1)])]
    for result, size in zip(results, sizes, strict=True):
        times, outputs = result["microseconds"], result["outputs"]
        cells = [result["name"], f"{times[F32]:.1f}", f"{times[INT8]:.1f}"]
        cells += [f"{times[INT8] / times[F32]:.2f}"]
        cells += [f"{size[label] / 1000:.1f}" for label in (F32, INT8)]
        if peer:
            expected = np.array(outputs[PEER])
            error = np.abs(np.array(outputs[F32]) - expected).max()
            cells += [f"{times[PEER]:.1f}", f"{times[F32] / times[PEER]:.2f}"]
            cells += [f"{error / np.abs(expected).max():.0e}"]
        lines.append(row(cells))
    return lines


def row(cells: Sequence[object]) -> str:
    """A line of a table."""
    return f"| {' | '.join(map(str, cells))} |"


if __name__ == "__main__":
    main()
