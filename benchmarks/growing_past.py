"""Times a language model word by word, while its past grows, beside ONNX Runtime and OpenVINO.

    python -m benchmarks.growing_past model.onnx --past 600 --words 30 --buckets 640,1024

The model takes ids, keys and values of the words before, and perhaps a mask and positions
(`attention_mask`, `position_ids`), and gives logits, and keys and values with those of the new
word: `past_key_values.0.key` or `past.0.key` becomes `present.0.key`. Each runtime is given what
it gave before; they take turns of a whole loop. Logits that differ by more of the largest than
`--budget` end with exit status 1 (rounded rows of weights of 4 bits differ by some hundredths).
"""

import argparse
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median

import numpy as np
import onnxruntime as ort

import glow

Arrays = Mapping[str, np.ndarray]
Run = Callable[[Arrays], Arrays]
"""Outputs by name for inputs by name."""

BUDGET = 1e-3


@dataclass(frozen=True)
class Decoder:
    """A language model in a file."""

    path: str
    threads: int
    buckets: Sequence[int]

    @cached_property
    def session(self) -> ort.InferenceSession:
        """Returns ONNX Runtime's session."""
        options = ort.SessionOptions()
        options.intra_op_num_threads = self.threads
        return ort.InferenceSession(self.path, options, ["CPUExecutionProvider"])

    @cached_property
    def pasts(self) -> dict[str, Sequence[int | str]]:
        """Returns the inputs of keys and values, with their shapes."""
        inputs = self.session.get_inputs()
        return {each.name: each.shape for each in inputs if "past" in each.name}

    def of_glow(self) -> Run:
        """Returns our model, which has a program for each bucket of the past."""
        shape = next(iter(self.pasts.values()))
        ids = next(i for i in self.session.get_inputs() if i.name == "input_ids")
        fixed = {name: 1 for name in ids.shape if isinstance(name, str)}
        return glow.compile(
            self.path,
            threads=self.threads,
            input_shapes=fixed,
            buckets={str(shape[2]): self.buckets},
        ).run

    def of_onnxruntime(self) -> Run:
        """Returns ONNX Runtime's call."""
        names = [each.name for each in self.session.get_outputs()]
        run = self.session.run
        return lambda inputs: dict(zip(names, run(None, inputs), strict=True))

    def of_openvino(self) -> Run:
        """Returns OpenVINO's call, in f32."""
        import openvino

        options = {
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_NUM_THREADS": self.threads,
            "INFERENCE_PRECISION_HINT": "f32",
        }
        model = openvino.Core().compile_model(self.path, "CPU", options)
        request = model.create_infer_request()

        def run(inputs: Arrays) -> Arrays:
            found = request.infer(dict(inputs), share_inputs=True)
            return {each.any_name: np.array(value) for each, value in found.items()}

        return run

    def first_past(self, length: int, head: int) -> Arrays:
        """Returns random keys and values of so many words."""
        random = np.random.default_rng(0)
        shapes = {
            name: (1, shape[1], length, shape[3] if isinstance(shape[3], int) else head)
            for name, shape in self.pasts.items()
        }
        return {
            name: 0.3 * random.standard_normal(shape).astype(np.float32)
            for name, shape in shapes.items()
        }

    def loop(self, run: Run, past: Arrays, words: int) -> tuple[list[float], list]:
        """Returns the seconds and the logits of so many words behind a past."""
        taken = {each.name for each in self.session.get_inputs()}
        seconds, logits = [], []
        for word in range(words):
            length = next(iter(past.values())).shape[2]
            inputs = {
                "input_ids": np.array([[word + 5]]),
                "attention_mask": np.ones((1, length + 1), np.int64),
                "position_ids": np.array([[length]]),
            }
            inputs = {name: one for name, one in inputs.items() if name in taken} | past
            started = time.perf_counter()
            results = run(inputs)
            seconds.append(time.perf_counter() - started)
            logits.append(np.array(results["logits"]))
            past = {name: results[_present(name)] for name in past}
        return seconds, logits


def _present(name: str) -> str:
    """Returns the output that an input of the past becomes."""
    return name.replace("past_key_values", "present").replace("past", "present")


def options() -> argparse.Namespace:
    """Returns what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--past", type=int, default=64, help="words before the first")
    parser.add_argument("--words", type=int, default=30)
    parser.add_argument("--buckets", default="128,256,512,1024")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--head", type=int, default=64, help="its size, if left open")
    parser.add_argument("--budget", type=float, default=1e-3)
    return parser.parse_args()


def main() -> None:
    """Print the milliseconds of a word, and exit with 1 where logits differ."""
    args = options()
    buckets = [int(size) for size in args.buckets.split(",")]
    decoder = Decoder(args.model, args.threads, buckets)
    past = decoder.first_past(args.past, args.head)
    runs = {
        "glow": decoder.of_glow(),
        "onnxruntime": decoder.of_onnxruntime(),
        "openvino": decoder.of_openvino(),
    }
    logits = {n: decoder.loop(run, past, args.words)[1] for n, run in runs.items()}
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(args.rounds):
        for name, run in runs.items():
            times[name].append(median(decoder.loop(run, past, args.words)[0]))
    sys.exit(int(worst_of(times, logits) > args.budget))


def worst_of(
    times: Mapping[str, Sequence[float]], logits: Mapping[str, Sequence[np.ndarray]]
) -> float:
    """Print each runtime's time and error; returns the largest error."""
    ours, worst = np.stack(logits["glow"]), 0.0
    for name, found in times.items():
        error = np.abs(np.stack(logits[name]) - ours).max() / np.abs(ours).max()
        worst = max(worst, error)
        ratio = median(found) / median(times["glow"])
        print(f"{name:<12} {1e3 * median(found):8.3f} ms  {ratio:5.2f}  {error:.0e}")
    return worst


if __name__ == "__main__":
    main()
