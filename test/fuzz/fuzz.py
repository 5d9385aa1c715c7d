"""Runs the checks on many seeds: `python test/fuzz/fuzz.py --count 2000 --jobs 2`.

`passes` are those of the passes on graphs, `products` and `quantized` compile networks, on
every fourth seed; `quantized-models` and `float-models` compare ONNX models with ONNX
Runtime; `control-models` have branches and loops, `padded-networks` and `padded-graphs` buckets.
`folded-nodes` compares what the importer computes of constants with what it computes
later, an example of an operator a seed; `gradients` compares those of nodes with
differences; `states` are programs with variables; `partitions` divides graphs;
`configs` are kernels in other configurations;
`mutated-texts` are programs that work or fail in one line, and `mutated-models` are ONNX files
that do. Each failure is printed with its seed,
which repeats it: `--kinds quantized --first SEED --count 1`.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor

from checks import Wrong, check_seed
from control_checks import check_control_model
from folded_nodes import check_folded_node
from gradient_checks import (
    check_gradient,
    check_gradient_graph,
    check_native_gradient,
)
from kernels.config_checks import SEED_STEP, check_configs
from model_mutations import check_model_mutation
from native_checks import check_products, check_quantized
from onnx_checks import check_float_model, check_quantized_model
from open_checks import check_open_model
from padding.padded_checks import check_padded_graphs, check_padded_network
from partition_checks import check_partition
from state_checks import check_state
from text_mutations import check_mutation

Check = Callable[[int], int]

KINDS: dict[str, tuple[Check, int]] = {
    "passes": (check_seed, 1),
    "products": (check_products, 4),
    "quantized": (check_quantized, 4),
    "quantized-models": (check_quantized_model, 1),
    "float-models": (check_float_model, 1),
    "open-models": (check_open_model, 1),
    "control-models": (check_control_model, 4),
    "padded-networks": (check_padded_network, 1),
    "padded-graphs": (check_padded_graphs, 1),
    "folded-nodes": (check_folded_node, 1),
    "gradients": (check_gradient, 1),
    "gradient-graphs": (check_gradient_graph, 1),
    "native-gradients": (check_native_gradient, 4),
    "states": (check_state, 1),
    "partitions": (check_partition, 2),
    "configs": (check_configs, SEED_STEP),
    "mutated-texts": (check_mutation, 1),
    "mutated-models": (check_model_mutation, 1),
}
"""What is checked, and on the how-manieth seeds."""


def outcome(kind: str, seed: int) -> tuple[int, str | None]:
    """The number of comparisons of a seed, and what is wrong."""
    try:
        return KINDS[kind][0](seed), None
    except Wrong as error:
        return 0, " ".join(str(error).split())
    except Exception as error:
        return 0, f"seed {seed}: no graph: {type(error).__name__}: {error}"


def run_kind(kind: str, seeds: range, jobs: int) -> int:
    """Check seeds and print what is wrong; the number of failures."""
    started, compared, wrong = time.monotonic(), 0, Counter[str]()
    with ProcessPoolExecutor(jobs) as pool:
        kinds = [kind] * len(seeds)
        for done, failure in pool.map(outcome, kinds, seeds, chunksize=8):
            compared += done
            if failure is not None:
                print(failure[:600], flush=True)
                wrong[failure.partition(":")[0]] += 1
    print(
        f"{kind}: {len(seeds)} graphs, {compared} comparisons, {wrong.total()} wrong "
        f"in {time.monotonic() - started:.0f} s",
        flush=True,
    )
    return wrong.total()


def main() -> int:
    """Check a range of seeds; 1 if one fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=2000, help="how many seeds")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument(
        "--kinds", nargs="+", choices=KINDS, default=list(KINDS), help="which checks"
    )
    options = parser.parse_args()
    end, wrong = options.first + options.count, 0
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {
            "GLOW_CACHE_DIR": folder,
            "GLOW_MODEL_CACHE_MB": "0",
            "GLOW_TUNING": "off",
        }
        for kind in options.kinds:
            seeds = range(options.first, end, KINDS[kind][1])
            wrong += run_kind(kind, seeds, options.jobs)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
