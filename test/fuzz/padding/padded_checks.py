"""What must hold of a network with buckets: calls of any size give what no padding gives.

A network is compiled for one or two buckets, if it allows them, and called with sizes up to
them, beside programs for these sizes themselves. Sizes that the network refuses must be refused.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from checks import Wrong
from padding.graph_networks import GraphNetwork, random_graph
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
        check_call(f"seed {seed}: N = {size}", (free, padded), [image])
        for size in sorted(sizes)
        for image in [random.standard_normal((*network.input_shape, size), np.float32)]
    )


def check_padded_graphs(seed: int) -> int:
    """The same of a network on graphs, whose nodes and edges have buckets."""
    random = np.random.default_rng(seed)
    source = GraphNetwork(random).model()
    buckets = {"N": [5, 9], "E": [6, 12]}
    names = list(buckets) if seed % 2 else list(reversed(buckets))
    options = {"backend": "interpreter", "specializations": 64}
    free = compile(source, **options)
    padded = compile(source, buckets={name: buckets[name] for name in names}, **options)
    return sum(
        check_call(
            f"seed {seed}: {nodes} nodes, {edges} edges",
            (free, padded),
            random_graph(random, nodes, edges),
        )
        for nodes, edges in ((2, 2), (5, 6), (4, 7), (6, 3), (9, 12), (8, 11), (3, 12))
    )


def check_call(
    what: str,
    models: tuple[RunnableModel, RunnableModel],
    inputs: Sequence[np.ndarray],
) -> int:
    """Compare a call without and with padding; 1 if the network takes the size."""
    results: list[list[np.ndarray] | GlowError] = []
    for model in models:
        try:
            results.append(model.run_in_order(inputs))
        except GlowError as error:
            results.append(error)
    wanted, found = results
    if isinstance(wanted, GlowError) or isinstance(found, GlowError):
        if isinstance(wanted, GlowError) != isinstance(found, GlowError):
            raise Wrong(f"{what}: one of {wanted!r} and {found!r} is an error")
        return 0
    for one, other in zip(found, wanted, strict=True):
        compare(what, one, other)
    return 1


def compare(what: str, found: np.ndarray, wanted: np.ndarray) -> None:
    """Raise Wrong where results differ by more than rounding."""
    if found.shape != wanted.shape:
        raise Wrong(f"{what}: the shape {found.shape} is not {wanted.shape}")
    largest = np.abs(wanted[np.isfinite(wanted)]).max(initial=1)
    if not np.allclose(
        found, wanted, TOLERANCE, TOLERANCE * float(largest), equal_nan=True
    ):
        raise Wrong(f"{what}: {np.abs(found - wanted).max()} off of {largest}")
