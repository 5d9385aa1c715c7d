"""Random programs of JAX, one operation each, against what JAX computes (`make interop`).

Integers and truth values must be equal, floats near, NaN in the same places. What cannot be
converted must be refused with a list of operations, in one line; it is counted.
"""

import argparse
import collections
import os
import random
import sys
import warnings

os.environ["JAX_ENABLE_X64"] = "1"
os.environ["GLOW_MODEL_CACHE_MB"] = "0"

import numpy as np
from programs import PROGRAMS

import glow

LIMITS = {"float16": 4e-3, "bfloat16": 4e-2, "float32": 4e-6, "float64": 1e-12}
"""Of the difference, relative to the largest number of an element and its result."""


def run_case(name, seed):
    """Whether a program is equal, "refused" or "different", and what is to tell of it."""
    import jax

    rng = random.Random(f"{name}:{seed}")
    function, arrays = PROGRAMS[name](rng, np.random.default_rng(rng.getrandbits(32)))
    wanted = jax.tree_util.tree_leaves(jax.jit(function, keep_unused=True)(*arrays))
    for backend in ("interpreter", "cpu"):
        try:
            model = glow.from_jax(function, *arrays, backend=backend)
            found = model(*arrays)
        except glow.GlowError as error:
            text = str(error)
            told = "not converted:" in text and "\n" not in text
            return "refused" if told else "untold", f"{backend}: {text[:300]}"
        except Exception as error:  # Whatever it is, it is a fault.
            return "crashed", f"{backend}: {type(error).__name__}: {str(error)[:300]}"
        found = found if isinstance(found, tuple | list) else [found]
        for number, (one, other) in enumerate(zip(found, wanted, strict=True)):
            fault = difference(np.asarray(one), np.asarray(other))
            if fault:
                return "different", f"{backend}: output {number}: {fault}"
    return "equal", ""


def difference(found, wanted):
    """What differs between two results; empty if nothing does."""
    if (found.shape, str(found.dtype)) != (wanted.shape, str(wanted.dtype)):
        return f"{found.dtype}{found.shape} for {wanted.dtype}{wanted.shape}"
    if str(found.dtype) not in LIMITS:
        wrong = found != wanted
    else:
        limit = LIMITS[str(found.dtype)]
        one, other = found.astype(np.float64), wanted.astype(np.float64)
        scale = np.abs(other)
        with np.errstate(all="ignore"):
            near = np.abs(one - other) <= limit * np.maximum(scale, 1e-30)
        if not near.all() and other.size > 1:
            finite = scale[np.isfinite(scale)]
            top = min(finite.max(initial=0.0), 1e3)
            near |= np.abs(one - other) <= limit * top
        wrong = ~(near | (one == other) | (np.isnan(one) & np.isnan(other)))
    if not wrong.any():
        return ""
    if not found.shape:
        return f"{found} for {wanted}"
    place = tuple(int(n[0]) for n in np.nonzero(wrong))
    return (
        f"{wrong.sum()} of {wrong.size}, {found[place]} for {wanted[place]} at {place}"
    )


def main():
    """Run programs of all kinds, and tell of the faults."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--kinds", nargs="*", default=list(PROGRAMS))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    counts, faults = collections.Counter(), 0
    for kind in options.kinds:
        for seed in range(options.first, options.first + options.count):
            verdict, text = run_case(kind, seed)
            counts[verdict] += 1
            if verdict != "equal":
                print(f"{verdict:9} {kind} {seed}: {text}", flush=True)
            faults += verdict not in ("equal", "refused")
    print(", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items())))
    sys.exit(faults > 0)


if __name__ == "__main__":
    main()
