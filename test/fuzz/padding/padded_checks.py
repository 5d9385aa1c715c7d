"""What must hold of a network with buckets: calls of any size give what no padding gives.

A network is compiled for one or two buckets, if it allows them, and called with sizes up to
them, beside programs for these sizes themselves. Sizes that the network refuses must be refused.
"""

from __future__ import annotations

import numpy as np
from checks import Wrong
from padding.image_networks import ImageNetwork

from glow.compiler import compile
from glow.dialects.errors import GlowError
from glow.specialized_model import RunnableModel

TOLERANCE = 2e-4
"""Relative to the largest element; what is normalized of next to nothing amplifies rounding."""


def check_padded_network(seed: int) -> int:
    """Compare a network at sizes up to its buckets; how many calls were compared."""
    random = np.random.default_rng(seed)
    network = ImageNetwork(random)
    source, most = network.model(), int(random.integers(10, 40))
    buckets = {"N": [most // 2, most] if seed % 3 else [most]}
    options = {"backend": "interpreter", "specializations": 64}
    try:
        free = compile(source, **options)
        padded = compile(source, buckets=buckets, **options)
    except GlowError:
        return 0
    sizes = {1, 2, 3, most // 3, most // 2, most // 2 + 1, most - 1, most}
    return sum(
        check_call(seed, (free, padded), random.standard_normal(shape, np.float32))
        for shape in ((*network.input_shape, size) for size in sorted(sizes))
    )


def check_call(
    seed: int,
    models: tuple[RunnableModel, RunnableModel],
    image: np.ndarray,
) -> int:
    """Compare a call without and with padding; 1 if the network takes the size."""
    what = f"seed {seed}: N = {image.shape[3]}"
    results: list[np.ndarray | GlowError] = []
    for model in models:
        try:
            results.append(np.asarray(model(image)))
        except GlowError as error:
            results.append(error)
    wanted, found = results
    if isinstance(wanted, GlowError) or isinstance(found, GlowError):
        if isinstance(wanted, GlowError) != isinstance(found, GlowError):
            raise Wrong(f"{what}: one of {wanted!r} and {found!r} is an error")
        return 0
    if found.shape != wanted.shape:
        raise Wrong(f"{what}: the shape {found.shape} is not {wanted.shape}")
    largest = np.abs(wanted[np.isfinite(wanted)]).max(initial=1)
    if not np.allclose(
        found, wanted, TOLERANCE, TOLERANCE * float(largest), equal_nan=True
    ):
        raise Wrong(f"{what}: {np.abs(found - wanted).max()} off of {largest}")
    return 1
