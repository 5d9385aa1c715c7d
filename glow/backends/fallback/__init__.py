"""Several backends as one: a node runs on the first that takes it.

    glow.compile(model, backend=["npu", "cpu"])        glow run model.onnx --backend=npu,cpu

The graph is optimized as the first backend has it, divided (`assign-backends`, `outline-parts`),
and each part compiled by its own backend from there. Where one backend takes all, its function
is the network's: nothing is added to a call.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from glow.backends.backend import Backend, CompiledFunction, get_backend
from glow.backends.device import Device
from glow.backends.divided import KNOWN_PARTS, DividedBackend
from glow.backends.pipeline import GRAPH, Passes, Phase, Pipeline
from glow.dialects.errors import GlowError
from glow.options import HOST, CompileOptions
from glow.runtime.caches.network_part import NetworkPart

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Operation

    from glow.compiled_model import CompiledModel
    from glow.dialects.node import NodeOp
    from glow.tensor_info import Signature

PARTS = "parts"


class FallbackBackend(DividedBackend):
    """Backends in the order in which they are asked."""

    def __init__(self, name: str) -> None:
        """`name` is theirs with commas; raises GlowError for one that is not there."""
        names = name.split(",")
        twice = next((one for one in names if names.count(one) > 1), None)
        if twice is not None:
            raise GlowError(f"backend '{twice}' is named twice in '{name}'")
        self.name = name
        self.members = list(map(get_backend, names))
        self.caches_models = any(one.caches_models for one in self.members)
        self._makers: WeakKeyDictionary[CompiledFunction, Backend] = WeakKeyDictionary()
        """Of networks that one backend has taken alone."""

    @property
    def last(self) -> Backend:
        """That which takes what is left over."""
        return self.members[-1]

    def version(self) -> str:
        """Those of all."""
        return "; ".join(f"{one.name} {one.version()}" for one in self.members)

    def is_legal(self, op: NodeOp) -> bool:
        """What is legal for any."""
        return any(one.is_legal(op) for one in self.members)

    def refuses(self, op: Operation) -> str | None:
        """Nothing: what none takes is told where the graph is divided."""
        return None

    def taker(self, op: Operation) -> Backend:
        """The first that takes a node."""
        takers = (one for one in self.members if one.refuses(op) is None)
        return next(takers, self.last)

    def prefers_f32(self, op: Operation, options: CompileOptions) -> bool:
        """As the one has it that takes the product."""
        taker = self.taker(op)
        return taker.prefers_f32(op, self.options_of(taker, options))

    def estimate_cost(
        self, op: Operation, options: CompileOptions | None = None
    ) -> float | None:
        """What the one needs that takes the node."""
        taker = self.taker(op)
        return taker.estimate_cost(op, options and self.options_of(taker, options))

    def options_of(self, member: Backend, options: CompileOptions) -> CompileOptions:
        """The options of one: a device if it is its own, a target if it knows it."""
        device = self.own_device(member, options.device)
        own = replace(options, backend=member.name, device=device)
        if options.target == HOST:
            return own
        try:
            member.pipeline(own)
        except GlowError:
            return replace(own, target=HOST, target_core=None)
        return own

    def own_device(self, member: Backend, device: str | None) -> str | None:
        """The name of a device that is the member's own; raises GlowError for an unknown one."""
        if device is None:
            return None
        found = self.find_device(device)
        return found.name if found in member.devices() else None

    def pipeline(self, options: CompileOptions) -> Pipeline:
        """The first one's graph, divided."""
        chosen = [self.options_of(one, options) for one in self.members]
        if options.target not in {one.target for one in chosen}:
            self.members[0].pipeline(replace(options, backend=self.members[0].name))
        pairs = zip(self.members, chosen, strict=True)
        first, *_ = [one.pipeline(own) for one, own in pairs]

        def parts() -> Passes:
            from glow.passes.graph.partition import assign_backends, outline_parts

            names = tuple(one.name for one in self.members)
            return [
                assign_backends.AssignBackendsPass(names),
                outline_parts.OutlinePartsPass(),
            ]

        summary = "a function for each part, named by its backend"
        return Pipeline(
            [first[GRAPH], Phase(PARTS, summary, parts)], compile_from=PARTS
        )

    def compile(self, module: ModuleOp, options: CompileOptions) -> CompiledFunction:
        """The parts, compiled one by one; that of a network in one part as it is."""
        from glow.compiler import compile_module, run_passes
        from glow.host.partition_plan import part_options, split_module
        from glow.passes.graph.partition.calls import is_divided

        if not is_divided(module):  # Text with nodes that no graph pass knows.
            run_passes(module, self.pipeline(options)[PARTS].passes)
        if not is_divided(module):  # A network without nodes.
            own = self.options_of(self.last, options)
            function = compile_module(module, own).function
            self.note_maker(function, self.last)
            return function
        plan = split_module(module)
        known = KNOWN_PARTS.get({})
        parts: list[tuple[NetworkPart, CompiledModel]] = []
        for part in plan.parts:
            member = get_backend(part.backend)
            place = NetworkPart(
                part.name, part.device, member.name, part.takes, part.gives
            )
            if place not in known:
                own = part_options(self.options_of(member, options), part)
                model = compile_module(part.module, own)
            else:
                model = known[place]
            parts.append((place, model))
        return self.joined(plan.signature, parts)

    def joined(
        self, signature: Signature, parts: Sequence[tuple[NetworkPart, CompiledModel]]
    ) -> CompiledFunction:
        """The function of a network in parts; that of a single one as it is."""
        from glow.backends.fallback.parts_function import PartsFunction

        inputs, outputs = (
            tuple(info.name for info in infos)
            for infos in (signature.inputs, signature.outputs)
        )
        (part, model), *others = parts
        if not others and (part.takes, part.gives) == (inputs, outputs):
            self.note_maker(model.function, get_backend(part.backend))
            return model.function
        return PartsFunction(inputs, outputs, parts)

    def note_maker(self, function: CompiledFunction, maker: Backend) -> None:
        """Remember who made a function alone, as far as functions can be referred to."""
        with suppress(TypeError):
            self._makers[function] = maker

    def prepare(self) -> None:
        """Each, whatever another one raises."""
        for one in self.members:
            with suppress(Exception):
                one.prepare()

    def maker(self, function: CompiledFunction) -> Backend | None:
        """The one that has made a function alone."""
        try:
            return self._makers.get(function)
        except TypeError:
            return None

    def parts_of(
        self, function: CompiledFunction
    ) -> Sequence[tuple[NetworkPart, CompiledModel]]:
        """The parts of a network that several have made."""
        from glow.backends.fallback.parts_function import PartsFunction

        return function.parts if isinstance(function, PartsFunction) else ()

    def devices(self) -> Sequence[Device]:
        """Those of all."""
        return [device for one in self.members for device in one.devices()]
