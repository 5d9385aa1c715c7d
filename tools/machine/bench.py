"""What `glow tune --remote` builds for a board: shared libraries of kernels, and of networks."""

from __future__ import annotations

from glow.backends.backend import get_backend
from glow.backends.bundle_program import BundleRequest
from glow.bundles.build import bundle_of, lower_watching
from glow.bundles.bundle import BundleSettings
from glow.bundles.object_code import bundle_machine, entry_names
from glow.bundles.shared_library import linked
from glow.compiler import load
from glow.dialects.errors import GlowError
from glow.lowering.target.target import Target
from glow.runtime.native_code import emit_object, parse
from glow.tools.progress import report
from glow.tuning.remote.board import Bench, Board, Program
from glow.tuning.search import Job

SETTINGS = BundleSettings("network", shared=True)


def bench_at(address: str) -> Bench:
    """A board, with what makes programs for it; raises GlowError where it cannot be reached."""
    return Bench(Board(address, report), kernel_library, network_program)


def kernel_library(text: str, target: Target) -> bytes:
    """The shared library of a kernel's LLVM IR."""
    machine = bundle_machine(target, SETTINGS)
    return linked(emit_object(parse(text, target, machine), machine), "kernel", target)


def network_program(job: Job) -> Program:
    """A run of a network as the entry of a bundle."""
    options, inputs = job.options, job.inputs
    module, backend = load(job.model, options), get_backend(options.backend)
    lower_watching(module, backend.pipeline(options).compile_from, options)
    request = BundleRequest(options)
    program = backend.bundle_program({SETTINGS.name: module}, request)
    bundle = bundle_of(program, options, SETTINGS)
    (function,) = bundle.functions
    if bundle.library is None or function.variables:
        raise GlowError("a network with variables is not measured on boards")
    mutables = bytearray(function.mutables_bytes)
    for place in function.inputs:
        end = place.offset + place.nbytes
        mutables[place.offset : end] = inputs[place.name].astype(place.dtype).tobytes()
    buffers = [
        ("content", bundle.constants.tobytes()),
        ("content", bytes(mutables)),
        ("zeros", max(1, function.activations_bytes)),
    ]
    symbol = entry_names(program, SETTINGS)[function.name]
    return Program([bundle.library], buffers, [(0, symbol, [0, 1, 2], [])])
