"""Profiles a network: what ranges its values take on a user's data.

The network runs natively with every observed value as a result. First comes the graph as
it was imported, whose names a user knows, then what the optimized graph adds to it, so
that a profile serves `glow-opt` on either.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from glow.backends.backend import CompiledFunction, get_backend
from glow.compiled_model import CompiledModel
from glow.compiler import GRAPH_PASSES, load, run_passes, stage_passes
from glow.dialects.errors import GlowError
from glow.dialects.glow import QuantizationProfileOp
from glow.dialects.weight_table import Array
from glow.dialects.weights import clone_module
from glow.passes.quantization.profiling.instrument_profile import (
    expose_profiles,
    instrument_profile,
)
from glow.passes.quantization.profiling.profile import Profile
from glow.passes.rewriting.node_builder import erase
from glow.signature import main_function, signature_of

if TYPE_CHECKING:
    import onnx

Batch = Mapping[str, Array] | Sequence[Array] | Array


def profile(
    model: str | os.PathLike[str] | bytes | onnx.ModelProto | ModuleOp,
    batches: Iterable[Batch],
    *,
    backend: str = "cpu",
    threads: int | None = None,
    input_shapes: Mapping[str, Sequence[int]] | None = None,
    progress: Callable[[int], None] | None = None,
) -> Profile:
    """The ranges and histograms of a model's values over batches of inputs.

    A batch is what the model takes: an array, a sequence in order, or a mapping by name.
    `progress` is called with the number of batches done. Raises GlowError for no
    batches at all, inputs that do not fit, and NaN or infinity (naming value and batch).
    """
    module = load(model, input_shapes)
    observers = [*_observers(module, backend, threads)]
    result = Profile()
    for number, batch in enumerate(batches):
        values: dict[str, Array] = {}
        for observer in observers:
            values |= observer.run(named_batch(observer, batch))
        check_inputs(batch, number)
        result.add(values)
        if progress is not None:
            progress(number + 1)
    if result.batches == 0:
        raise GlowError("the data set is empty: there is nothing to profile")
    return result


def check_inputs(batch: Batch, number: int) -> None:
    """Raise GlowError for NaN and infinity in named inputs, naming input and batch."""
    arrays = batch.items() if isinstance(batch, Mapping) else ()
    for name, array in arrays:
        if np.asarray(array).dtype.kind == "f" and not np.isfinite(array).all():
            raise GlowError(f"NaN or infinity in input '{name}' in batch {number}")


def named_batch(model: CompiledModel, batch: Batch) -> dict[str, Array]:
    """The batch by input names."""
    if isinstance(batch, Mapping):
        return dict(batch)
    arrays = [batch] if isinstance(batch, np.ndarray) else list(batch)
    names = [info.name for info in model.inputs]
    if len(arrays) != len(names):
        raise GlowError(f"the model takes {len(names)} inputs, not {len(arrays)}")
    return dict(zip(names, arrays, strict=True))


def _observers(
    module: ModuleOp, backend: str, threads: int | None
) -> Iterable[CompiledModel]:
    """Models whose outputs are the observed values, without observing any twice."""
    seen: set[str] = set()
    for optimize in (False, True):
        copy = clone_module(module)
        if optimize:
            run_passes(copy, GRAPH_PASSES)
        instrument_profile(copy)
        function = main_function(copy)
        remove_probes(function, seen)
        names = expose_profiles(function)
        seen.update(names)
        if names:
            yield _observer(copy, backend, threads)


def remove_probes(function: func.FuncOp, names: set[str]) -> None:
    """Erase the observations under the given names."""
    for op in list(function.body.block.ops):
        if isinstance(op, QuantizationProfileOp) and op.value_name.data in names:
            erase(op)


def _observer(module: ModuleOp, backend: str, threads: int | None) -> CompiledModel:
    chosen = get_backend(backend)
    signature = signature_of(main_function(module))
    passes = stage_passes(chosen, "host")
    for name in ("lowered", "instr"):
        run_passes(module, passes[name])
    compiled: CompiledFunction = chosen.compile(module, "host", threads)
    return CompiledModel(signature, compiled)
