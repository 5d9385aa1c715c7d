"""Kernels as the leaves of a trace: what the backend tells becomes spans below a request's.

A device runs a request in a block of the span that it has for it (`Span.around`); so the
kernels that are told there know their lane, their request and their parent. Those of a
call's other threads are on lanes of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, cast

from glow.backends.backend import get_backend
from glow.bucketing.bucketed_model import open_model
from glow.compiled_model import CompiledModel
from glow.dialects.errors import GlowError
from glow.host.tracing import current_span
from glow.specialization.model_source import ModelSource, OpenSource
from glow.specialized_model import Program

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from glow.backends.inspection import KernelRun
    from glow.compiler import Model
    from glow.options import CompileOptions
    from glow.specialization.model_source import OnnxModel
    from glow.specialized_model import Answers, RunnableModel


def tell_kernels(runs: Sequence[KernelRun]) -> None:
    """Note kernels below the span of the block, if there is one."""
    span = current_span()
    if span is None:
        return
    for run in runs:
        lane = f"{span.lane} thread {run.thread}" if run.thread else span.lane
        place = lane, run.name, span.request_id
        span.tracer.record(place, run.begin, run.end, span.context, kernel=run.detail)


def compile_timed(model: Model, options: CompileOptions) -> RunnableModel | None:
    """A model that tells when its kernels run, compiled even if it is known.

    None where its backend does not tell, or its data decides which kernels run.
    """
    from glow.bucketing.buckets import with_padding
    from glow.compiler import load
    from glow.open_sizes import OpenModelError

    try:
        inspection = get_backend(options.backend).inspection()
        return inspection.timed(model, options.for_signature(), tell_kernels)
    except OpenModelError as error:
        source = ModelSource(cast("OnnxModel", model))
        options = replace(options, buckets=options.fixed_buckets)
        specializer = TimedSpecializer(source, options)
        signature = with_padding(error.signature, options, partial(load, model))
        return open_model(signature, specializer, options.specializations)
    except GlowError:
        return None


class TimedSpecializer(OpenSource):
    """Compiles the programs of a model with open sizes so that they tell their kernels."""

    def make(self, shapes: Mapping[str, tuple[int, ...]], answers: Answers) -> Program:
        """The program behind those that have asked for the answers; raises GlowError."""
        from glow.compiler import compile_module, import_program

        self.source.check()
        options = self.options_for(shapes)
        step = import_program(self.source.model, options, answers, ends=self.ends)
        if step.module is None:
            return Program(None, step.asks)
        closed = replace(self.options, input_shapes=None, input_values=None)
        model = compile_timed(step.module, closed)
        if not isinstance(model, CompiledModel):
            model = compile_module(step.module, closed)
        return Program(model, step.asks)

    def compile_part(self, part: ModuleOp) -> CompiledModel:
        """A program of some nodes of the model, which tells nothing."""
        from glow.compiler import compile_module

        return compile_module(part, self.options)
