"""Runs the checks on many seeds: `python test/fuzz/fuzz.py --count 2000 --jobs 2`.

Prints each failure with its seed, which repeats it: `--first SEED --count 1`.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor

from checks import Wrong, check_seed


def outcome(seed: int) -> tuple[int, str | None]:
    """The number of comparisons of a seed, and what is wrong."""
    try:
        return check_seed(seed), None
    except Wrong as error:
        return 0, " ".join(str(error).split())
    except Exception as error:
        return 0, f"seed {seed}: no graph: {type(error).__name__}: {error}"


def main() -> int:
    """Check a range of seeds; 1 if one fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=2000, help="how many seeds")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    options = parser.parse_args()
    seeds = range(options.first, options.first + options.count)
    started, compared, wrong = time.monotonic(), 0, Counter[str]()
    with ProcessPoolExecutor(options.jobs) as pool:
        for done, failure in pool.map(outcome, seeds, chunksize=8):
            compared += done
            if failure is not None:
                print(failure[:600], flush=True)
                wrong[failure.partition(":")[0]] += 1
    seconds = time.monotonic() - started
    print(
        f"{options.count} graphs, {compared} comparisons, {sum(wrong.values())} wrong "
        f"in {seconds:.0f} s"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
