"""Profiles a network: what ranges its values take on a user's data.

The network runs natively with every observed value as a result. First comes the graph as
it was imported, whose names a user knows, then what the optimized graph adds to it, so
that a profile serves `glow-opt` on either.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Unpack

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from glow.backends.backend import DEFAULT_BACKEND, get_backend
from glow.backends.pipeline import GRAPH
from glow.compiled_model import CompiledModel
from glow.compiler import load, run_passes
from glow.dialects.errors import GlowError
from glow.dialects.glow import QuantizationProfileOp
from glow.dialects.weight_table import Array
from glow.dialects.weights import clone_module
from glow.open_sizes import InputOptions
from glow.options import CompileOptions
from glow.passes.quantization.profiling.instrument_profile import (
    expose_profiles,
    instrument_profile,
)
from glow.passes.quantization.profiling.profile import Profile
from glow.passes.rewriting.node_builder import erase
from glow.passes.rewriting.volume_convolution import volumes_as_planes
from glow.signature import main_function, signature_of
from glow.universe import optimize

if TYPE_CHECKING:
    import onnx

Batch = Mapping[str, Array] | Sequence[Array] | Array


def profile(
    model: str | os.PathLike[str] | bytes | onnx.ModelProto | ModuleOp,
    batches: Iterable[Batch],
    *,
    backend: str = DEFAULT_BACKEND,
    threads: int | None = None,
    progress: Callable[[int], None] | None = None,
    **inputs: Unpack[InputOptions],
) -> Profile:
    """The ranges and histograms of a model's values over batches of inputs.

    A batch is what the model takes: an array, a sequence in order, or a mapping by name.
    `inputs` are sizes and values that the model leaves open, as for `glow.compile`.
    `progress` is called with the number of batches done. Raises GlowError for no
    batches at all, inputs that do not fit, and NaN or infinity (naming value and batch).
    """
    options = CompileOptions(backend=backend, threads=threads, **inputs)
    module = load(model, options)
    observers = [*_observers(module, options)]
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


def _observers(module: ModuleOp, options: CompileOptions) -> Iterable[CompiledModel]:
    """Models whose outputs are the observed values, without observing any twice.

    A name is that of a value in the graph that is quantized, and only where it has none of that
    name, of one in the graph as it was.
    """
    seen: set[str] = set()
    for is_optimized in (True, False):
        copy = clone_module(module)
        if is_optimized:
            run_passes(copy, optimize())
            volumes_as_planes(copy)  # as they are quantized
        instrument_profile(copy)
        function = main_function(copy)
        remove_probes(function, seen)
        names = expose_profiles(function)
        seen.update(names)
        if names:
            yield _observer(copy, options)


def remove_probes(function: func.FuncOp, names: set[str]) -> None:
    """Erase the observations under the given names."""
    for op in list(function.body.block.ops):
        if isinstance(op, QuantizationProfileOp) and op.value_name.data in names:
            erase(op)


def _observer(module: ModuleOp, options: CompileOptions) -> CompiledModel:
    """A model of a graph as it is: nothing is optimized away that is observed."""
    backend = get_backend(options.backend)
    signature = signature_of(main_function(module))
    pipeline = backend.pipeline(options)
    for phase in pipeline.between(GRAPH, pipeline.compile_from):
        run_passes(module, phase.passes)
    return CompiledModel(signature, backend.compile(module, options))
