"""From a model and its options to a model that is served: compiled, placed, measured."""

from __future__ import annotations

import hashlib
import itertools
import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, cast

import numpy as np

from glow.backends.backend import DEFAULT_BACKEND
from glow.compilation import compile, find_source
from glow.compiled_model import CompiledModel
from glow.dialects.errors import GlowError
from glow.frontends.kinds import is_text
from glow.host.batch_table import (
    BatchTable,
    TableCache,
    measure_table,
)
from glow.host.batching import BatchPolicy, forget_batches
from glow.host.devices.memory import model_memory
from glow.host.provisioner import backend_of
from glow.host.request import NoRoomError
from glow.host.served_model import ServedModel
from glow.host.sources import note_source
from glow.options import CompileOptions, OptionKeywords
from glow.sequence_model import SequenceModel
from glow.specialized_model import SpecializedModel

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from glow.compiled_model import Array
    from glow.compiler import Model
    from glow.host.background import Background
    from glow.host.batching import Measure
    from glow.host.network import Network
    from glow.host.provisioner import Provisioner
    from glow.specialized_model import RunnableModel


class AddKeywords(OptionKeywords, total=False):
    """The options of `Host.add`; those of `glow.compile` are among them."""

    replicas: int
    batching: str
    max_delay: float
    partition: str | None


class Sources:
    """A model, compiled for each backend that asks."""

    def __init__(
        self, model: Model | RunnableModel, options: OptionKeywords, name: str
    ) -> None:
        self.model = model
        self.options = options
        self.name = name
        self.has_kernels = False
        """Whether its calls tell a trace of their kernels."""
        self._compiled: dict[str, RunnableModel] = {}
        self._measure: Measure | None = None
        self.backend = options.get("backend")
        """The only backend, where there is only one."""
        self.is_compiled = isinstance(model, CompiledModel | SpecializedModel)
        """Whether there is nothing that it was compiled from."""
        if isinstance(model, CompiledModel | SpecializedModel):
            self.backend = backend_of(model)
            self._compiled[self.backend] = model
            if options:
                raise GlowError(
                    f"'{name}' is compiled already: {next(iter(options))} has no effect",
                    hint="pass what it was compiled from",
                )

    def compiled_for(self, backend: str) -> RunnableModel:
        """The model for a backend; raises GlowError as `glow.compile` does."""
        if backend not in self._compiled:
            options: OptionKeywords = {**self.options, "backend": backend}
            model = self._compile_timed(backend) if self.has_kernels else None
            model = model or compile(cast("Model", self.model), **options)
            if isinstance(cast(object, model), SequenceModel):
                raise GlowError(f"'{self.name}' has sequences, which a host cannot run")
            note_source(model, cast("Model", self.model), options)
            self._compiled[backend] = model
        return self._compiled[backend]

    def _compile_timed(self, backend: str) -> RunnableModel | None:
        from glow.host.kernel_traces import compile_timed

        return compile_timed(cast("Model", self.model), self.compile_options(backend))

    def compile_options(self, backend: str) -> CompileOptions:
        """The options of `glow.compile` for a backend; raises GlowError for wrong ones."""
        keywords: OptionKeywords = {**self.options, "backend": backend}
        return CompileOptions(**keywords)

    def first(self) -> RunnableModel:
        """Any of those that are compiled."""
        return next(iter(self._compiled.values()))

    def measure(self) -> Measure:
        """How batches are measured: with a memory of it, where there is a cache of models."""
        if self.is_compiled or self.has_kernels:
            return measure_table
        if self._measure is None:
            backend = backend_of(self.first())
            source = find_source(self.model, self.compile_options(backend))
            if source is None:
                return measure_table
            key = hashlib.sha256(f"batches 2 {source.key}".encode()).hexdigest()
            self._measure = TableCache(key).measure
        return self._measure


AS_WRITTEN = "as-written"
"""What `partition` says of text that is divided already."""


class Adding:
    """Makes served models of what users give."""

    def __init__(self, provisioner: Provisioner, background: Background) -> None:
        self.provisioner = provisioner
        self.background = background
        self._numbers = itertools.count(1)

    def add(
        self, name: str, model: Model | RunnableModel, options: AddKeywords
    ) -> ServedModel:
        """The model on its devices, ready for requests; raises GlowError."""
        rest: AddKeywords = {**options}
        replicas, batching = rest.pop("replicas", 1), rest.pop("batching", "auto")
        limit, max_delay = rest.pop("memory_limit", None), rest.pop("max_delay", 0.0)
        partition = rest.pop("partition", None)
        check_options(batching, max_delay)
        how = batching, max_delay
        sources = Sources(model, cast(OptionKeywords, rest), name)
        sources.has_kernels = self.provisioner.has_kernels
        key = f"{name}#{next(self._numbers)}"
        if partition is None:
            try:
                return self._add_whole(key, sources, (replicas, limit), how)
            except NoRoomError:
                if replicas > 1 or not self._can_divide(sources):
                    raise
                partition = "strategy=memory"
        network = self._divide(sources, key, partition, limit)
        no_batches = BatchPolicy(None, measure_table, self.background.later)
        return ServedModel(name, network, no_batches)

    def _add_whole(
        self,
        key: str,
        sources: Sources,
        where: tuple[int, int | None],
        how: tuple[str, float],
    ) -> ServedModel:
        """A model that is whole on its devices.

        Batches are measured first, so that processes get the programs of those that pay; where
        only these make it too large, there are no batches.
        """
        replicas, limit = where
        compiled_for = self._limited(sources, limit)
        compiled_for(self.provisioner.first_backend(sources.backend))
        network: list[Network] = []
        policy = self._policy(sources, network, how)

        def place() -> Network:
            backend = sources.backend
            return self.provisioner.place(key, compiled_for, replicas, backend)

        try:
            network.append(place())
        except NoRoomError as error:
            if not policy.forget():
                raise
            network.append(place())
            policy.turn_off(f"there is no room for batches: {error}")
        return ServedModel(sources.name, network[0], policy)

    def _can_divide(self, sources: Sources) -> bool:
        """Whether a model that is too large may be divided: by its source, if sizes are known."""
        if len(self.provisioner.devices) == 1 or sources.is_compiled:
            return False
        return isinstance(sources.first(), CompiledModel)

    def _divide(
        self, sources: Sources, key: str, choice: str, limit: int | None
    ) -> Network:
        """The network in parts on several devices; raises GlowError."""
        from glow.host.partition_plan import plan_model, split_module

        if sources.is_compiled:
            raise GlowError(
                f"'{sources.name}' is compiled already and cannot be divided",
                hint="pass what it was compiled from",
            )
        options = sources.compile_options(sources.backend or DEFAULT_BACKEND)
        if choice == AS_WRITTEN:
            plan = split_module(divided_text(sources))
        else:
            devices = self.provisioner.partition_devices(limit)
            plan = plan_model(cast("Model", sources.model), devices, choice, options)
        return self.provisioner.place_parts(key, plan, options)

    def _limited(
        self, sources: Sources, limit: int | None
    ) -> Callable[[str], RunnableModel]:
        """Compiles for a backend; GlowError for a model that takes more than the limit."""

        def compiled_for(backend: str) -> RunnableModel:
            model = sources.compiled_for(backend)
            needed = model_memory(model, 1)
            if limit is not None and needed > limit:
                raise NoRoomError(
                    f"'{sources.name}' needs {needed} bytes, and its limit is {limit}",
                    hint="divide it (partition=...)",
                )
            return model

        return compiled_for

    def _policy(
        self, sources: Sources, network: Sequence[Network], how: tuple[str, float]
    ) -> BatchPolicy:
        """How requests join; measured now where the sizes of requests are known."""
        batching, max_delay = how
        model = sources.first()
        measure = partial(measure_within, sources, network)
        policy = BatchPolicy(model, measure, self.background.later, max_delay)
        if batching == "off":
            policy.turn_off("batching is off")
        samples = sample_inputs(model)
        if not policy.reason and samples is not None:
            policy.measure_now(samples)
        return policy


def measure_within(
    sources: Sources,
    network: Sequence[Network],
    model: SpecializedModel,
    inputs: Sequence[Array],
) -> BatchTable:
    """The table of a model; programs of batches stay where they pay and there is room.

    `network` is the model's, once it is placed. Raises GlowError where there is no room.
    """
    table = sources.measure()(model, inputs)
    sizes = tuple([array.shape for array in inputs])
    forget_batches(model, sizes, table.paying)
    for device in [device for one in network for device in one.devices]:
        memory = device.memory()
        if memory.limit_bytes is not None and memory.used_bytes > memory.limit_bytes:
            forget_batches(model, sizes, [1])
            raise GlowError(
                f"{memory.used_bytes - memory.limit_bytes} bytes are missing for them on "
                f"device '{device.name}'"
            )
    return table


def divided_text(sources: Sources) -> str | os.PathLike[str] | ModuleOp:
    """The text or module that a model is; raises GlowError for another one."""
    model = sources.model
    if is_text(model):
        return model
    if hasattr(model, "walk"):
        return cast("ModuleOp", model)
    raise GlowError(
        f"'{sources.name}' is no text that is divided",
        hint="glow-opt --partition writes it; or say a strategy",
    )


def check_options(batching: object, max_delay: object) -> None:
    """Raise GlowError for options that are no such choices."""
    if batching not in ("auto", "off"):
        raise GlowError(f"batching is 'auto' or 'off', not {batching!r}")
    if not isinstance(max_delay, int | float) or not 0 <= max_delay <= 60:
        raise GlowError(f"max_delay is seconds from 0 to 60, not {max_delay!r}")


def sample_inputs(model: RunnableModel) -> list[Array] | None:
    """Inputs of a single request; None where not only the batch size is open.

    Numbers are small: integers are often indices, of which 0 and 1 are there.
    """
    random = np.random.default_rng(0)
    samples: list[Array] = []
    for info in model.inputs:
        if not info.shape or any(isinstance(size, str) for size in info.shape[1:]):
            return None
        shape = (1, *[int(size) for size in info.shape[1:]])
        if np.issubdtype(info.dtype, np.integer) or info.dtype == np.bool_:
            samples.append(random.integers(0, 2, shape).astype(info.dtype))
        else:
            samples.append(random.uniform(-1, 1, shape).astype(info.dtype))
    return samples
