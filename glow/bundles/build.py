"""From the graphs of networks to a bundle."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from glow.backends.backend import get_backend
from glow.backends.bundle_program import BundleProgram, BundleRequest
from glow.backends.pipeline import GRAPH
from glow.bundles.bundle import Bundle, BundleSettings, Quantization, Sample
from glow.bundles.object_code import bundle_object, entries
from glow.bundles.shared_library import shared_library
from glow.bundles.stored_numbers import quantizations
from glow.bundles.wasm.module import check_wasm_settings, linked_module
from glow.bundles.wasm.object_file import symbols_of
from glow.compiler import compile_module, run_phases
from glow.dialects.numerics import SCARCE_FREE_BYTES
from glow.dialects.weights import clone_module
from glow.lowering.target.program_target import split_name
from glow.lowering.target.target import Target
from glow.lowering.target.target_names import without_matrix_tiles
from glow.options import HOST, CompileOptions
from glow.quantization import for_target
from glow.tensor_info import TensorInfo

SAMPLE_SEED = 0


def build_bundle(
    modules: Mapping[str, ModuleOp], options: CompileOptions, settings: BundleSettings
) -> Bundle:
    """The bundle of graphs by name, which are changed.

    Raises GlowError for a network that the target has no code for.
    """
    options = replace(
        options,
        quantization=for_target(options.quantization, options.target),
        target=without_matrix_tiles(options.target),
        free_weight_bytes=SCARCE_FREE_BYTES,
    )
    backend = get_backend(options.backend)
    planned = backend.pipeline(options).compile_from
    if Target.from_string(options.target).is_wasm:
        check_wasm_settings(settings)
    samples = [sample_of(module, options) for module in modules.values()]
    stored = {
        (name, place): numbers
        for name, module in modules.items()
        for place, numbers in lower_watching(module, planned, options).items()
    }
    request = BundleRequest(options, settings.threads, settings.debug_callbacks)
    program = backend.bundle_program(modules, request)
    bundle = bundle_of(program, options, settings)
    return replace(bundle, samples=samples, quantization=stored)


def bundle_of(
    program: BundleProgram, options: CompileOptions, settings: BundleSettings
) -> Bundle:
    """The bundle of a program, without samples."""
    target = Target.from_string(options.target)
    checksum = zlib.crc32(program.constants.data)
    code, stack_bytes = bundle_object(program, settings, target, checksum)
    kernels = kernel_bytes(code, program, settings)
    if target.is_wasm:
        exports = sorted(entries(program, settings))
        code = linked_module(code, exports, stack_bytes)
    return Bundle(
        settings,
        target,
        target.cpu if options.target == HOST else split_name(options.target)[0],
        program.functions,
        code,
        program.constants,
        program.alignment,
        stack_bytes=stack_bytes,
        kernel_bytes=kernels,
        library=shared_library(code, settings, target) if settings.shared else None,
    )


def lower_watching(
    module: ModuleOp, planned: str, options: CompileOptions
) -> Mapping[str, Quantization]:
    """Lower a graph to instructions; returns what its inputs and outputs stand for."""
    found: dict[str, Quantization] = {}

    def watch(phase: str) -> None:
        if phase == GRAPH:
            found.update(quantizations(module))

    run_phases(module, planned, options, watch)
    return found


def sample_of(module: ModuleOp, options: CompileOptions) -> Sample:
    """Inputs by a seed, and what this machine gives for them."""
    here = replace(options, target=HOST, target_core=None)
    model = compile_module(clone_module(module), here)
    random = np.random.default_rng(SAMPLE_SEED)
    inputs = [sample_input(random, info) for info in model.inputs]
    return Sample(inputs, model.function.run(inputs))


def sample_input(
    random: np.random.Generator, info: TensorInfo
) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]]:
    """Standard normal numbers, any bytes; zeros and ones for integers, which may be indices."""
    if info.dtype.kind in "iu" and info.dtype.itemsize == 1:
        return random.integers(0, 1 << 8, info.shape).astype(info.dtype)
    if info.dtype.kind in "biu":
        return random.integers(0, 2, info.shape).astype(info.dtype)
    return random.standard_normal(info.shape).astype(info.dtype)


def kernel_bytes(
    code: bytes, program: BundleProgram, settings: BundleSettings
) -> Mapping[str, int]:
    """The bytes of each kernel's code."""
    sizes = symbols_of(code).function_bytes()
    names = [f"{settings.name}_{kernel}" for kernel in program.kernels]
    return {name: sizes[name] for name in names if name in sizes}
