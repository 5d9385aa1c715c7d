"""The whole compiler on one screen: a backend's phases, from a graph to what runs.

    graph    typed nodes, optimized                      glow
    lowered  few primitives and backend nodes            glow + the backend's
    instr    instructions on one planned arena           instr
    loops    a function a kernel, and main               scf, vector, memref, arith, math, func
    ...      what the backend exports: llvm, asm, obj

Which phases there are is the backend's to say (`Backend.pipeline`). `lower` stops after one,
`compile_model` returns a model that runs; `lower_to` and `compile` are the same with keyword
arguments. `glow.compile` (`glow.compilation`) comes here for models that its cache has not.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import cache, partial
from math import prod
from typing import TYPE_CHECKING, TypeAlias, Unpack

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import CallOp
from xdsl.passes import PassPipeline

from glow.backends.backend import backends_in, get_backend, loaded_backends
from glow.backends.divided import maker_name
from glow.backends.levels import level_of
from glow.backends.pipeline import (
    GRAPH,
    INSTR,
    LOOPS,
    LOWERED,
    Passes,
    check_level,
)
from glow.backends.refusals import check_taken
from glow.compiled_model import CompiledModel
from glow.dialects.errors import GlowError
from glow.dialects.quantized import any_quantized
from glow.dialects.weights import clone_module
from glow.frontends.kinds import is_text
from glow.frontends.mapped_file import check_files
from glow.garbage_collection import collection_paused
from glow.lowering.target.program_target import check_target
from glow.open_sizes import OpenModelError, check_no_buckets
from glow.options import AUTO, CompileOptions, OptionKeywords
from glow.passes.rewriting.trace import pass_clock
from glow.precision import apply_precision
from glow.runtime.memory import check_memory
from glow.sequence_model import with_sequences
from glow.signature import check_interfaces, main_function, signature_of
from glow.specialization.model_source import ModelSource, OpenSource
from glow.specialization.program_ends import ProgramEnds
from glow.specialized_model import (
    Answers,
    Program,
    RunnableModel,
)

if TYPE_CHECKING:
    import onnx

    from glow.frontends.notes import ImportNotes
    from glow.frontends.onnx import Step

    Model = str | os.PathLike[str] | bytes | onnx.ModelProto | ModuleOp

Watch: TypeAlias = Callable[[str], None]
"""Is told each phase that a module has behind it, that of its level first."""


def lower_to(
    module: ModuleOp, phase: str, **options: Unpack[OptionKeywords]
) -> ModuleOp | str | bytes:
    """Lower a module, from whatever level it has, to the end of a phase.

    Returns the module up to `loops`, text for `llvm` and `asm`, bytes for `obj`. Options are
    the fields of `CompileOptions`.
    """
    return lower(module, phase, CompileOptions(**options))


def compile(model: Model, **options: Unpack[OptionKeywords]) -> RunnableModel:
    """A runnable model, compiled even if it is known; see `glow.compile`."""
    return with_sequences(model, CompileOptions(**options), compile_model)


def _no_watch(phase: str) -> None:
    """Of a compilation that nobody watches."""


@collection_paused()
def lower(
    module: ModuleOp, phase: str, options: CompileOptions, watch: Watch = _no_watch
) -> ModuleOp | str | bytes:
    """Lower a module to the end of a phase of its backend's pipeline."""
    backend = get_backend(options.backend)
    last = backend.pipeline(options)[phase]
    run_phases(module, phase, options, watch)
    return backend.export(module, phase, options) if last.is_export else module


@collection_paused()
def compile_model(
    model: Model, options: CompileOptions, notes: ImportNotes | None = None
) -> RunnableModel:
    """A runnable model of an ONNX file, its bytes or proto, or of a module of any level.

    It compiles at its calls where sizes, or values that decide shapes, are open. `notes`
    take what the import would warn of. Raises GlowError with one clear line for anything
    wrong with the model.
    """
    get_backend(options.backend).pipeline(options)  # Which refuses what it cannot do.
    try:
        module = load(model, options.for_signature(), notes)
    except OpenModelError as error:
        assert not isinstance(model, ModuleOp)
        from glow.bucketing.buckets import with_padding

        specializer = ModelSpecializer(ModelSource(model), options)
        if options.buckets == AUTO:
            from glow.bucketing.automatic import automatic_model

            return automatic_model(error.signature, specializer, compile_model)
        signature = with_padding(error.signature, options, partial(load, model))
        from glow.bucketing.bucketed_model import open_model

        return open_model(signature, specializer, options.specializations)
    check_no_buckets(options.buckets)
    return compile_module(module, options)


def compile_module(module: ModuleOp, options: CompileOptions) -> CompiledModel:
    """A runnable model of a module of any level, which is changed."""
    backend = get_backend(options.backend)
    last = backend.pipeline(options).compile_from
    if options.device is not None:
        backend.find_device(options.device)
    if level_of(module) == LOOPS:
        raise GlowError(
            "a program of the level loops has no weights, and cannot run by itself",
            hint="glow compile makes an object file of it",
        )
    signature = signature_of(main_function(module))
    check_memory({"inputs and outputs": signature.nbytes})

    def watch(phase: str) -> None:
        nonlocal signature
        if phase == GRAPH:  # Which may have made integers of inputs and outputs.
            signature = signature_of(main_function(module))

    run_phases(module, last, options, watch)
    function = backend.compile(module, options)
    check_files()
    return CompiledModel(signature, function, maker_name(backend, function))


def run_phases(
    module: ModuleOp, last: str, options: CompileOptions, watch: Watch = _no_watch
) -> None:
    """Take a module from the level that it has to the end of a phase, as far as that is IR."""
    backend = get_backend(options.backend)
    pipeline = backend.pipeline(options)
    level = level_of(module)
    if level in (None, LOWERED):
        _inline_parts(module)  # Of a module that nobody has loaded.
    check_level(level, options)
    if options.memory_limit is not None and INSTR not in pipeline.names:
        raise GlowError("a memory limit needs a backend that plans memory, such as cpu")
    check_program(module, level, options)
    if pipeline.is_compiled(last):
        check_interfaces(module)
    if level in pipeline.names:
        watch(level)
    for phase in pipeline.between(level, last):
        if phase.name == GRAPH:
            _optimize(module, phase.passes, options)
            apply_precision(module, backend, options)
            _check_values(module)
            if last != GRAPH:
                check_taken(module, backend)
        else:
            run_passes(module, phase.passes)
        watch(phase.name)


def _inline_parts(module: ModuleOp) -> None:
    """Make one graph of a network that is divided into functions."""
    if any(isinstance(op, CallOp) for op in module.walk()):
        from glow.passes.graph.partition.inline_parts import inline_parts

        inline_parts(module)


def check_program(module: ModuleOp, level: str | None, options: CompileOptions) -> None:
    """Raise GlowError for a program that the options do not fit, or that nobody can run."""
    if level in (None, LOWERED):
        signature_of(main_function(module))  # Which says what is wrong with it.
    check_target(module, options.target)
    for backend in backends_in(module):
        backend.verify(module)
    if level == INSTR:  # Not made here: the plan may be anything.
        from glow.passes.instr.verify_instr import VerifyInstrPass

        run_passes(module, [VerifyInstrPass()])


def _optimize(module: ModuleOp, passes: Passes, options: CompileOptions) -> None:
    """Optimize a graph, and quantize it if that is asked for or it has quantized values.

    What was trained with fake quantization has scales of its own.
    """
    if options.quantize is not False:
        run_passes(module, _conversion_of_trained(module))
    comes_quantized = any(
        op.name.startswith("quant.")
        or op.name == "glow.dynamic_quantize"
        or any_quantized(op.result_types)
        for op in module.walk()
    )
    if options.quantize is False and not comes_quantized:
        run_passes(module, passes)
        return
    from glow.passes.graph.pipeline import OF_FLOATS
    from glow.quantization import apply_quantization

    later = [p for p in passes if isinstance(p, OF_FLOATS) and not comes_quantized]
    run_passes(module, [p for p in passes if p not in later])
    apply_quantization(module, options.quantize, options.quantization, options.target)
    if later:
        run_passes(module, later)


def _conversion_of_trained(module: ModuleOp) -> Passes:
    """What turns fake quantization into casts, if there is any."""
    if not any(op.name == "glow.fake_quantize" for op in module.walk()):
        return []
    from glow.passes.quantization import convert_fake_quantization

    return [convert_fake_quantization.ConvertFakeQuantizationPass()]


def _check_values(module: ModuleOp) -> None:
    """Raise GlowError where a value of a graph has more elements than there are bytes.

    Else layouts would look at all of them before the plan tells.
    """
    types = [value.type for op in module.walk() for value in op.results]
    shapes = [t.get_shape() for t in types if isinstance(t, TensorType)]
    counts = [prod(shape) for shape in shapes if min(shape, default=0) >= 0]
    check_memory({"one value, at a byte an element": max(counts, default=0)})


def load(
    model: Model,
    options: CompileOptions | None = None,
    notes: ImportNotes | None = None,
    training: bool = False,
) -> ModuleOp:
    """The graph module of a model; a module is cloned, since passes change it.

    The parts of a divided one are one graph again (`glow.host.partition_plan` keeps them).
    For `training`, an ONNX model keeps its dropouts (`glow.frontends.onnx.import_model`).
    Raises OpenModelError where sizes or values that it needs are not among the options.
    """
    options = options or CompileOptions()
    if options.shorter_shapes:
        from glow.bucketing.masked_graphs import masked_program

        return masked_program(options, lambda one: load(model, one, notes, training))
    module = None
    if isinstance(model, ModuleOp):
        module = clone_module(model)
    elif is_text(model):
        from glow.frontends.mlir import read_mlir
        from glow.universe import new_context

        module = read_mlir(model, new_context(), notes)
    if module is not None:
        from glow.frontends.foreign import onnx_model_of

        if (found := onnx_model_of(module)) is None:
            options.check_no_inputs()
            return _as_graph(module)
        model = found
    assert not isinstance(model, ModuleOp)
    from glow.frontends.onnx import import_model

    return import_model(
        model,
        input_shapes=options.input_shapes,
        input_values=options.input_values,
        notes=notes,
        training=training,
    )


def _as_graph(module: ModuleOp) -> ModuleOp:
    """A module as one graph: of `glow`, with the parts of a divided network inlined."""
    convert_foreign(module)
    if level_of(module) in (None, LOWERED):
        _inline_parts(module)
    return module


def convert_foreign(module: ModuleOp) -> None:
    """Make a graph of a program in the dialect of another project."""
    from glow.frontends.foreign import foreign_passes

    if passes := foreign_passes(module):
        run_passes(module, passes)


@collection_paused()
def compile_step(
    model: Model,
    options: CompileOptions,
    answers: Answers,
    notes: ImportNotes | None = None,
    ends: ProgramEnds | None = None,
) -> Program:
    """The next program of a model whose sizes are all among the options.

    `answers` are the values that the programs before have asked for. `ends` are kept
    for all programs of a model.
    """
    step = import_program(model, options, answers, notes, ends)
    return Program(step.module and compile_module(step.module, options), step.asks)


def import_program(
    model: Model,
    options: CompileOptions,
    answers: Answers,
    notes: ImportNotes | None = None,
    ends: ProgramEnds | None = None,
) -> Step:
    """The graph of the next program of a model, and what it asks for (`compile_step`)."""
    from glow.frontends.onnx import Step, import_step

    assert not isinstance(model, ModuleOp)
    if options.shorter_shapes:
        return Step(load(model, options, notes), (), None)
    return import_step(
        model,
        answers,
        input_shapes=options.input_shapes or {},
        input_values=options.input_values or {},
        notes=notes,
        ends=ends,
    )


class ModelSpecializer(OpenSource):
    """Compiles the programs of a model that has open sizes or needs values."""

    def __init__(self, source: ModelSource, options: CompileOptions) -> None:
        super().__init__(source, options.for_open_sizes())

    def make(self, shapes: Mapping[str, tuple[int, ...]], answers: Answers) -> Program:
        """The program behind those that have asked for the answers; raises GlowError."""
        self.source.check()
        options = self.options_for(shapes)
        return compile_step(self.source.model, options, answers, ends=self.ends)

    def compile_part(self, part: ModuleOp) -> CompiledModel:
        """A program of some nodes of the model."""
        return compile_module(part, self.options)


def context() -> Context:
    """The context of all passes, made once for the backends that are loaded."""
    return _context(tuple(backend.name for backend in loaded_backends()))


@cache
def _context(backends: tuple[str, ...]) -> Context:
    from glow.universe import own_context

    return own_context()


def run_passes(module: ModuleOp, passes: Passes) -> None:
    """Run passes one after the other.

    Raises GlowError where somebody wants to overwrite the file that weights are in.
    """
    check_files()
    PassPipeline(tuple(passes), pass_clock()).apply(context(), module)
