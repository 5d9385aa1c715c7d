"""One runtime in a process of its own, which runs a model when it is told to.

python server.py RUNTIME MODEL.onnx INPUTS.npz THREADS CORES

Answers each line on stdin by one line of JSON on stdout; the first answer, unasked, follows
the loading. `run N` answers the milliseconds of N inferences, `save FILE` writes the outputs
and answers the peak memory. The end of the input ends it. An error is answered as
`{"error": "..."}`.

A runtime is a way to load a model, which returns a function that runs it, the runtime's
version and the seconds that loading took, the import not counted.

It imports nothing of this repository but `glow`, so that the memory and the time that it
reports are those of the runtime.
"""

import json
import os
import re
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TextIO

import numpy as np

# The runtimes' Python interfaces carry no types.
# pyright: basic

Array = np.ndarray
Inputs = dict[str, Array]
Run = Callable[[], Sequence[Array]]
"""Runs an inference on inputs given before."""


def main() -> int:
    runtime, model, inputs, threads, cores = sys.argv[1:]
    os.sched_setaffinity(0, {int(core) for core in cores.split(",")})
    answers = _claim_stdout()
    try:
        _serve(answers, runtime, model, inputs, int(threads))
    except Exception as error:
        message = " ".join(str(error).split()) or type(error).__name__
        _answer(answers, {"error": message})
        return 1
    return 0


def _claim_stdout() -> TextIO:
    """Returns the standard output; what the runtimes print goes to stderr from now on."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return answers


def _answer(answers: TextIO, value: object) -> None:
    answers.write(json.dumps(value) + "\n")
    answers.flush()


def _serve(
    answers: TextIO, runtime: str, model: str, inputs: str, threads: int
) -> None:
    with np.load(inputs) as file:
        feed = dict(file)
    run, version, seconds = _loader(runtime)(model, feed, threads)
    _answer(answers, {"version": version, "load_s": seconds})
    for line in sys.stdin:
        command, argument = line.split(maxsplit=1)
        if command == "run":
            _answer(answers, {"milliseconds": _measure(run, int(argument))})
        else:
            outputs = run()
            single = isinstance(outputs, np.ndarray)
            np.savez(argument.strip(), *([outputs] if single else outputs))
            _answer(answers, {"peak_mb": _peak_memory()})


def _loader(runtime: str) -> Callable[[str, Inputs, int], tuple[Run, str, float]]:
    """Returns how to load a model; the rarer runtimes are in a module of their own."""
    if runtime in LOADERS:
        return LOADERS[runtime]
    if runtime.endswith("_training"):
        import trainers

        return trainers.LOADERS[runtime]
    import compilers

    return compilers.LOADERS[runtime]


def _measure(run: Run, count: int) -> list[float]:
    """Returns the milliseconds of each inference, after one that warms the caches."""
    run()
    times: list[float] = []
    for _ in range(count):
        start = time.perf_counter()
        run()
        times.append((time.perf_counter() - start) * 1e3)
    return times


def _peak_memory() -> float:
    """Returns the most memory that this process had, in megabytes.

    Not `ru_maxrss`, which a child inherits from the process that started it.
    """
    status = Path("/proc/self/status").read_text()
    match = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(match[1]) / 1024 if match else 0.0


def _load_glow(
    model: str, feed: Inputs, threads: int, **options: str
) -> tuple[Run, str, float]:
    import glow

    start = time.perf_counter()
    compiled = glow.compile(model, threads=threads, **options)
    seconds = time.perf_counter() - start

    return lambda: compiled(**feed), getattr(glow, "__version__", ""), seconds


def _load_onnxruntime(model: str, feed: Inputs, threads: int) -> tuple[Run, str, float]:
    import onnxruntime

    start = time.perf_counter()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        model, options, providers=["CPUExecutionProvider"]
    )
    seconds = time.perf_counter() - start

    def run() -> list[Array]:
        return [np.asarray(output) for output in session.run(None, feed)]

    return run, onnxruntime.__version__, seconds


def _load_openvino(
    model: str, feed: Inputs, threads: int, precision: str | None = None
) -> tuple[Run, str, float]:
    """Its own choice of precision where none is given: bf16 where the processor has it."""
    import openvino

    start = time.perf_counter()
    settings = {
        "INFERENCE_NUM_THREADS": threads,
        "NUM_STREAMS": 1,
        "PERFORMANCE_HINT": "LATENCY",
    }
    if precision is not None:
        settings["INFERENCE_PRECISION_HINT"] = precision
    core = openvino.Core()
    compiled = core.compile_model(core.read_model(model), "CPU", settings)
    seconds = time.perf_counter() - start
    request = compiled.create_infer_request()
    for name, values in feed.items():
        request.set_tensor(name, openvino.Tensor(values))

    def run() -> list[Array]:
        request.infer()
        return [np.array(request.get_tensor(port).data) for port in compiled.outputs]

    return run, openvino.__version__, seconds


LOADERS = {
    "glow": _load_glow,
    "glow_exact": partial(_load_glow, numerics="exact"),
    "glow_bf16": partial(_load_glow, precision="bf16"),
    "ort": _load_onnxruntime,
    "openvino": partial(_load_openvino, precision="f32"),
    "openvino_default": _load_openvino,
}

if __name__ == "__main__":
    sys.exit(main())
