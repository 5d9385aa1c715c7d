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

from glow.backends.backend import Backend, CompiledFunction, get_backend
from glow.backends.device import Device
from glow.backends.pipeline import GRAPH, Passes, Phase, Pipeline
from glow.dialects.errors import GlowError
from glow.options import HOST, CompileOptions

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Operation

    from glow.dialects.node import NodeOp
    from glow.runtime.native_function import NativeProgram

PARTS = "parts"


class FallbackBackend(Backend):
    """Backends in the order in which they are asked."""

    def __init__(self, name: str) -> None:
        """`name` is theirs with commas; raises GlowError for one that is not there."""
        names = name.split(",")
        twice = next((one for one in names if names.count(one) > 1), None)
        if twice is not None:
            raise GlowError(f"backend '{twice}' is named twice in '{name}'")
        self.name = name
        self.members = list(map(get_backend, names))
        # What the last one takes alone may be kept where it keeps models.
        self.caches_models = self.last.caches_models

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
        device = None
        if options.device is not None:
            found = self.find_device(options.device)
            device = found.name if found in member.devices() else None
        own = replace(options, backend=member.name, device=device)
        if options.target == HOST:
            return own
        try:
            member.pipeline(own)
        except GlowError:
            return replace(own, target=HOST, target_core=None)
        return own

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
        from glow.backends.fallback.parts_function import PartsFunction
        from glow.compiler import compile_module, run_passes
        from glow.host.partition_plan import part_options, split_module
        from glow.passes.graph.partition.calls import is_divided

        if not is_divided(module):  # Text with nodes that no graph pass knows.
            run_passes(module, self.pipeline(options)[PARTS].passes)
        if not is_divided(module):  # A network without nodes.
            return compile_module(module, self.options_of(self.last, options)).function
        plan = split_module(module)
        models = [
            compile_module(
                part.module,
                part_options(self.options_of(get_backend(part.backend), options), part),
            )
            for part in plan.parts
        ]
        if len(models) == 1:
            (part,) = plan.parts
            if part.takes == plan.inputs and part.gives == plan.outputs:
                return models[0].function
        return PartsFunction(plan, models)

    def prepare(self) -> None:
        """Each, whatever another one raises."""
        for one in self.members:
            with suppress(Exception):
                one.prepare()

    def stored_program(self, function: CompiledFunction) -> NativeProgram | None:
        """That of a network that the last one takes alone."""
        return self.last.stored_program(function)

    def load_program(
        self, program: NativeProgram, threads: int | None, device: str | None = None
    ) -> CompiledFunction:
        """By the last one."""
        return self.last.load_program(program, threads, device)

    def devices(self) -> Sequence[Device]:
        """Those of all."""
        return [device for one in self.members for device in one.devices()]
