"""The whole compiler on one screen: a list of stages, each a list of passes.

    graph    typed nodes, optimized                glow
    lowered  few primitives and backend nodes      glow + cpu
    instr    instructions on one planned arena     instr
    loops    a function a kernel, and main         scf, vector, memref, arith, math, func
    llvm     LLVM IR text
    asm      assembly text of the target
    obj      an object file of the target

`lower_to` stops after a stage and returns what it has; `compile` goes to the end and
returns a model that runs. `glow.compile` is `glow.compilation.compile`, which calls it for
models that are not in its cache.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from xdsl.context import Context
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass, PassPipeline

from glow.arguments import check_counts, check_quantization
from glow.backends.backend import (
    Backend,
    backends_in,
    get_backend,
    loaded_backends,
)
from glow.collection import collection_paused
from glow.compiled_model import CompiledModel
from glow.dialects.errors import GlowError
from glow.dialects.locations import place_of
from glow.dialects.numerics import (
    WEIGHT_GROWTH,
    check_numerics,
    check_weight_growth,
)
from glow.dialects.quantized import any_quantized, is_quantized
from glow.dialects.weights import clone_module
from glow.frontends.mapped_file import check_files
from glow.lowering.target.program_target import check_target, program_target
from glow.passes.graph import FUSE_ACTIVATION, GRAPH_PASSES
from glow.passes.rewriting.trace import pass_clock
from glow.precision import apply_precision, check_precision
from glow.runtime.memory import check_memory
from glow.signature import main_function, signature_of

if TYPE_CHECKING:
    import onnx

    from glow.frontends.notes import ImportNotes
    from glow.passes.quantization.options import QuantizationOptions
    from glow.quantization import Quantization

STAGES = ("graph", "lowered", "instr", "loops", "llvm", "asm", "obj")

PLAN = "plan-memory"
VERIFY_PLAN = "verify-instr"

WITH_NUMERICS = ("fold-channel-shuffle",)
"""The graph passes that ask how exact results must be."""


@collection_paused()
def lower_to(
    module: ModuleOp,
    stage: str,
    *,
    backend: str = "cpu",
    target: str = "host",
    numerics: str = "default",
    quantize: Quantization = False,
    precision: str = "f32",
    memory_limit: int | None = None,
    weight_growth: float = WEIGHT_GROWTH,
) -> ModuleOp | str | bytes:
    """Lower a module, from whatever level it has, to `stage`.

    Returns the module up to `loops`, text for `llvm` and `asm`, bytes for `obj`.
    """
    if stage not in STAGES:
        raise GlowError(f"unknown stage '{stage}'", hint=f"one of {', '.join(STAGES)}")
    check_counts(memory_limit=memory_limit)
    check_weight_growth(weight_growth)
    chosen = get_backend(backend)
    options = Options(
        target, numerics, quantize, None, precision, memory_limit, weight_growth
    )
    _run_stages(module, stage, chosen, options)
    lowest = STAGES.index(stage) > STAGES.index("loops")
    return chosen.export(module, stage, target) if lowest else module


@collection_paused()
def compile(
    model: str | os.PathLike[str] | bytes | onnx.ModelProto | ModuleOp,
    *,
    backend: str = "cpu",
    target: str = "host",
    threads: int | None = None,
    input_shapes: Mapping[str, Sequence[int]] | None = None,
    numerics: str = "default",
    quantize: Quantization = False,
    quantization: QuantizationOptions | None = None,
    precision: str = "f32",
    notes: ImportNotes | None = None,
    memory_limit: int | None = None,
    weight_growth: float = WEIGHT_GROWTH,
) -> CompiledModel:
    """A runnable model of an ONNX file, its bytes or proto, or of a graph module.

    `threads` is the number of threads of a call, by default one a core; results do not
    depend on it. `numerics` is `exact`, `default` or `fast` (`glow.dialects.numerics`).
    `quantize` is a profile (`glow.profile`) or its file; `quantization` has the choices.
    `precision` is what products multiply: `f32`, `bf16` where that is faster, or `fp16`.
    `notes` take what the import would warn of. `memory_limit` is the most bytes that the
    values between nodes may take: the order of work and values computed twice make room,
    or the error names the node that needs most. `weight_growth` times the bytes of all
    weights is what those of convolutions may grow by when they are transformed for
    Winograd's algorithm (8 MB are always free). Raises GlowError with one clear line for
    anything wrong with the model.
    """
    check_counts(threads=threads, memory_limit=memory_limit)
    check_weight_growth(weight_growth)
    check_precision(precision)
    check_quantization(quantization)
    module = load(model, input_shapes, notes)
    chosen = get_backend(backend)
    if level_of(module) >= STAGES.index("loops"):
        raise GlowError(
            "a program of the level loops has no weights, and cannot run by itself",
            hint="glow compile makes an object file of it",
        )
    signature = signature_of(main_function(module))
    check_memory({"inputs and outputs": signature.nbytes})
    options = Options(
        target,
        numerics,
        quantize,
        quantization,
        precision,
        memory_limit,
        weight_growth,
    )
    _run_stages(module, "instr", chosen, options)
    function = chosen.compile(module, target, threads)
    check_files()
    return CompiledModel(signature, function)


@dataclass(frozen=True)
class Options:
    """What `compile` and `lower_to` are asked for, by the names of their arguments."""

    target: str
    numerics: str
    quantize: Quantization
    quantization: QuantizationOptions | None
    precision: str
    memory_limit: int | None
    weight_growth: float

    def check_level(self, level: int) -> None:
        """Raise GlowError for what a program of a level has behind it."""
        graph = {
            "quantize": self.quantize is not False,
            "precision": self.precision != "f32",
            "numerics": self.numerics != "default",
            "weight_growth": self.weight_growth != WEIGHT_GROWTH,
        }
        asked = {**graph, "memory_limit": self.memory_limit is not None}
        first_without = {**dict.fromkeys(graph, "lowered"), "memory_limit": "instr"}
        for name, stage in first_without.items():
            if asked[name] and level >= STAGES.index(stage):
                raise GlowError(
                    f"{name} comes too late for a program of the level {STAGES[level]}",
                    hint="it is for the network that the program was made from",
                )


def _run_stages(
    module: ModuleOp, last: str, backend: Backend, options: Options
) -> None:
    """Lower a module from the level that it has to that of a stage, or to loops."""
    level = level_of(module)
    passes = stage_passes(
        backend,
        options.target,
        options.numerics,
        options.memory_limit,
        options.weight_growth,
    )
    options.check_level(level)
    if level < STAGES.index("instr"):
        signature_of(main_function(module))  # Which says what is wrong with it.
    check_target(module, options.target)
    if program_target(module) is None and any(backends_in(module)):
        raise GlowError(
            "the program has packed layouts, and does not say for which target",
            hint="lower the network anew",
        )
    if STAGES.index(last) >= STAGES.index("instr"):
        check_interfaces(module)
    if level == STAGES.index("instr"):  # Not made here: the plan may be anything.
        run_passes(module, (VERIFY_PLAN,))
    if level < 0:
        quantization = options.quantization
        _optimize(module, passes["graph"], options.quantize, quantization)
        keep = quantization.keep if quantization else ()
        apply_precision(
            module, options.precision, backend, options.target, options.numerics, keep
        )
    for number, name in enumerate(STAGES[1:4], 1):
        if level < number <= STAGES.index(last):
            run_passes(module, passes[name])


def check_interfaces(module: ModuleOp) -> None:
    """Raise GlowError where a function takes or returns quantized elements.

    Those are stored integers between nodes; callers have floats, or plain integers.
    """
    for function in module.ops:
        if not isinstance(function, FuncOp):
            continue
        types = function.function_type
        for shaped in (*types.inputs, *types.outputs):
            if is_quantized(shaped):
                raise GlowError(
                    f"@{function.sym_name.data} takes or returns {shaped}, which no "
                    "compiled program does",
                    location=place_of(function),
                    hint="cast from floats and to floats inside, with quant.qcast and "
                    "quant.dcast",
                )


def _optimize(
    module: ModuleOp,
    passes: Sequence[str],
    quantize: Quantization,
    options: QuantizationOptions | None = None,
) -> None:
    """Optimize a graph, and quantize it if that is asked for or it has quantized values."""
    comes_quantized = any(
        op.name.startswith("quant.")
        or op.name == "glow.dynamic_quantize"
        or any_quantized(op.result_types)
        for op in module.walk()
    )
    if quantize is False and not comes_quantized:
        run_passes(module, passes)
        return
    from glow.quantization import apply_quantization

    # A function that a product absorbs is computed in floats; by itself it becomes a table.
    later = () if comes_quantized else (FUSE_ACTIVATION,)
    run_passes(module, [name for name in passes if name not in later])
    apply_quantization(module, quantize, options)
    if later:
        run_passes(module, later)


def load(
    model: str | os.PathLike[str] | bytes | onnx.ModelProto | ModuleOp,
    input_shapes: Mapping[str, Sequence[int]] | None = None,
    notes: ImportNotes | None = None,
) -> ModuleOp:
    """The graph module of a model; a module is cloned, since passes change it."""
    if isinstance(model, ModuleOp):
        return clone_module(model)
    if isinstance(model, str | os.PathLike) and os.fspath(model).endswith(".mlir"):
        from glow.frontends.mlir import read_mlir
        from glow.universe import new_context

        return read_mlir(model, new_context(), notes)
    from glow.frontends.onnx import import_model

    return import_model(model, input_shapes=input_shapes, notes=notes)


def stage_passes(
    backend: Backend,
    target: str,
    numerics: str = "default",
    memory_limit: int | None = None,
    weight_growth: float = WEIGHT_GROWTH,
) -> dict[str, Sequence[str]]:
    """The passes of each stage up to loops."""
    check_numerics(numerics)
    return {
        "graph": tuple(
            f"{name}{{numerics={numerics}}}" if name in WITH_NUMERICS else name
            for name in GRAPH_PASSES
        ),
        "lowered": backend.lowered_passes(target, numerics, weight_growth),
        "instr": limited(backend.instr_passes(target), memory_limit),
        "loops": backend.loops_passes(target),
    }


def limited(passes: Sequence[str], memory_limit: int | None) -> Sequence[str]:
    """The passes with a memory plan that keeps to a limit."""
    if memory_limit is None:
        return passes
    if PLAN not in passes:
        raise GlowError("a memory limit needs a backend that plans memory, such as cpu")
    fitting = [f"{name}{{limit={memory_limit}}}" for name in ("fit-memory", PLAN)]
    return [new for name in passes for new in (fitting if name == PLAN else [name])]


def level_of(module: ModuleOp) -> int:
    """The index in STAGES of the level that a module has; -1 for a fresh graph."""
    dialects = {op.name.partition(".")[0] for op in module.walk()}
    if "instr" in dialects:
        return STAGES.index("instr")
    if any(not dialects.isdisjoint(one.dialects()) for one in backends_in(module)):
        return STAGES.index("lowered")
    arguments = [value.type for value in main_function(module).body.block.args]
    if "glow" not in dialects and any(isinstance(t, MemRefType) for t in arguments):
        return STAGES.index("loops")
    return -1


def context() -> Context:
    """The context of all passes, made once for the backends that are loaded."""
    return _context(tuple(backend.name for backend in loaded_backends()))


@cache
def _context(backends: tuple[str, ...]) -> Context:
    from glow.universe import own_context

    return own_context()


def available_passes() -> dict[str, Callable[[], type[ModulePass]]]:
    """The passes of xDSL, ours and those of the backends that are loaded, by name."""
    return _passes(tuple(backend.name for backend in loaded_backends()))


@cache
def _passes(backends: tuple[str, ...]) -> dict[str, Callable[[], type[ModulePass]]]:
    from xdsl.transforms import get_all_passes

    from glow.universe import get_glow_passes

    return {**get_all_passes(), **get_glow_passes()}


def run_passes(module: ModuleOp, specs: Sequence[str]) -> None:
    """Run passes, given as on the command line, one after the other.

    Raises GlowError where somebody wants to overwrite the file that weights are in.
    """
    check_files()
    passes = _parsed_passes(tuple(specs))
    PassPipeline(passes, pass_clock()).apply(context(), module)


@lru_cache(maxsize=64)
def _parsed_passes(specs: tuple[str, ...]) -> tuple[ModulePass, ...]:
    """The passes of a pipeline, which hold nothing of the module that they run on.

    Reading the names of 45 passes and their options takes longer than running them on
    a network of one node.
    """
    return PassPipeline.parse_spec(available_passes(), ",".join(specs)).passes
