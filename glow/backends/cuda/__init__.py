"""The CUDA backend: kernels for many threads, and the CPU's with a thread a slice of each.

It writes code for any GPU of the table and without one, and runs it by the driver. `kernels`
builds those for many threads, `selection` says which instruction has which, and `tiling` how it
is cut.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from glow.backends.backend import Backend, CompiledFunction, PassFactory, Rewrite
from glow.backends.cpu import CpuBackend
from glow.backends.device import Device
from glow.dialects.errors import GlowError

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Operation

    from glow.backends.cuda.instr_to_threads import InstrToThreadsPass
    from glow.backends.pipeline import Pipeline
    from glow.dialects.node import NodeOp
    from glow.lowering.target.target import Target
    from glow.options import CompileOptions
    from glow.runtime.native_program import NativeProgram

PTX = "ptx"
ANY = "sm_80"
"""Without a target; newer GPUs run its code, too."""


def gpu_of(options: CompileOptions) -> str:
    """The target, where it is not said to be this machine."""
    return ANY if options.target == "host" else options.target


def get_instr_to_threads() -> type[InstrToThreadsPass]:
    """The pass."""
    from glow.backends.cuda.instr_to_threads import InstrToThreadsPass

    return InstrToThreadsPass


class CudaBackend(CpuBackend):
    """Writes kernels for NVIDIA's GPUs.

    Layouts, fusion, the plan of the memory and what there is no kernel for many threads for are
    the CPU's.
    """

    name = "cuda"

    # Kernels of this machine are not those of a device.
    subject = Backend.subject
    tuning_features = Backend.tuning_features
    # Kernels of a GPU are no functions that a program of the host calls.
    bundle_program = Backend.bundle_program
    loop_program = Backend.loop_program

    def passes(self) -> Mapping[str, PassFactory]:
        """The CPU's, and kernels of blocks of threads."""
        return {**super().passes(), "instr-to-threads": get_instr_to_threads}

    def is_legal(self, op: NodeOp) -> bool:
        """What is legal for the CPU, and attention of 16-bit floats."""
        from glow.dialects import glow
        from glow.dialects.half import is_half
        from glow.dialects.node import element_of

        if isinstance(op, glow.AttentionOp) and is_half(element_of(op.queries)):
            from glow.backends.cuda.half_kernels import has_attention

            return has_attention(op)
        return super().is_legal(op)

    def quantized_rewrites(self) -> Mapping[type[Operation], Rewrite]:
        """The CPU's; weights of a few bits become floats, which tensor cores multiply."""
        from glow.dialects.glow import BlockDequantizeOp

        rewrites = super().quantized_rewrites()
        return {
            node: how for node, how in rewrites.items() if node != BlockDequantizeOp
        }

    def keeps_half(self, op: Operation, target: Target) -> bool:
        """Products and attention of 16-bit floats, which tensor cores multiply."""
        from glow.backends.cuda.half_kernels import keeps_half

        return keeps_half(op, target)

    def prefers_f32(self, op: Operation, options: CompileOptions) -> bool:
        """Products that have no kernel with constant weights."""
        from glow.backends.cuda.half_kernels import prefers_f32
        from glow.lowering.target.target import Target

        return prefers_f32(op, Target.from_string(gpu_of(options)))

    def pipeline(self, options: CompileOptions) -> Pipeline:
        """The CPU's to instructions, then kernels, and their assembly.

        Raises GlowError for a target that is no GPU.
        """
        from glow.backends.cpu.pipeline import cpu_pipeline
        from glow.backends.cuda.kernels.gpu_builder import TILE_BYTES
        from glow.backends.pipeline import LOOPS, Passes, Phase, Pipeline
        from glow.lowering.target.named_targets import GPUS

        target = gpu_of(options)
        if target not in GPUS:
            raise GlowError(
                f"'{target}' is no target of backend 'cuda'",
                hint=f"--target is one of {', '.join(GPUS)}",
            )
        pipeline = cpu_pipeline(replace(options, target=target), TILE_BYTES)
        phases = pipeline.phases[: pipeline.names.index(LOOPS)]

        def kernels() -> Passes:
            to_threads = get_instr_to_threads()
            return [to_threads(target, options.backend, options.numerics)]

        loops = Phase(LOOPS, "a function or module a kernel", kernels)
        text = Phase(PTX, "assembly of the kernels", is_export=True)
        return Pipeline([*phases, loops, text], pipeline.compile_from)

    def compile(self, module: ModuleOp, options: CompileOptions) -> CompiledFunction:
        """The main function of a module on a device."""
        device = self.find_device(options.device)
        from glow.backends.cuda.build import build_function
        from glow.backends.cuda.kernel_table import thread_table
        from glow.lowering.target.target import Target

        target = Target.from_string(gpu_of(options))
        table = thread_table(self.name, options.numerics)
        return build_function(module, target, table, int(device.number))

    def export(
        self, module: ModuleOp, phase: str, options: CompileOptions
    ) -> str | bytes:
        """The kernels of a program of loops as PTX; needs no device."""
        from glow.backends.cuda.ptx import module_ptx
        from glow.lowering.target.target import Target

        return module_ptx(module, Target.from_string(gpu_of(options)))

    def prepare(self) -> None:
        """Nothing: the driver assembles."""

    def load_program(
        self, program: NativeProgram, threads: int | None, device: str | None = None
    ) -> CompiledFunction:
        """Kernels on a device; neither the compiler nor LLVM is loaded."""
        found = self.find_device(device)
        from glow.backends.cuda.cuda_function import load_function

        return load_function(program, found.name, int(found.number))

    def devices(self) -> Sequence[Device]:
        """Those of the driver, none where there is no driver that can be used."""
        from glow.backends.cuda.driver import open_driver

        try:
            driver = open_driver()
            found = [driver.facts(number) for number in range(driver.count())]
        except GlowError:
            return ()
        return [
            Device(
                f"{self.name}:{facts.number}",
                "gpu",
                facts.memory_bytes,
                f"{facts.name}, {facts.gpu}",
            )
            for facts in found
        ]

    def why_no_device(self) -> str:
        """What the driver says, or that there is none."""
        from glow.backends.cuda.driver import open_driver

        try:
            open_driver().count()
        except GlowError as error:
            return error.message
        return "the driver has no device"
