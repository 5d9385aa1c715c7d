"""The CPU backend: blocked layouts, fused kernels, native code through LLVM."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from glow.backends.backend import (
    Backend,
    CompiledFunction,
    Device,
    DialectFactory,
    PassFactory,
    ReferenceFunction,
    Rewrite,
)
from glow.dialects.errors import GlowError

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Dialect, Operation

    from glow.backends.bundle_program import (
        BundleProgram,
        BundleRequest,
        LoopProgram,
    )
    from glow.backends.cpu.program.kernel_table import KernelTable, Selectors
    from glow.backends.inspection import Inspection
    from glow.backends.pipeline import Pipeline
    from glow.dialects.node import NodeOp
    from glow.lowering.target.target import Target
    from glow.options import CompileOptions
    from glow.runtime.native_program import NativeProgram
    from glow.tuning.search import Job, Subject


def get_cpu() -> Dialect:
    """The dialect."""
    from glow.backends.cpu.dialect import Cpu

    return Cpu


class CpuBackend(Backend):
    """Compiles for this machine, or ahead of time for another.

    A backend that derives from it begins with all that it has: the tables of its methods
    with rows added or replaced, and its pipeline, whose passes ask the backend by its name.
    """

    name = "cpu"
    caches_models = True

    def selectors(self) -> Selectors:
        """Which kernels serve an instruction, by its class."""
        from glow.backends.cpu.selection import SELECTORS

        return SELECTORS

    def kernel_table(self) -> KernelTable:
        """The kernels, for passes and reports."""
        from glow.backends.cpu.program.kernel_table import KernelTable

        return KernelTable(self.name, self.selectors(), self.version())

    def dialects(self) -> Mapping[str, DialectFactory]:
        """Blocked layouts, packed weights, fused nodes."""
        return {"cpu": get_cpu}

    def passes(self) -> Mapping[str, PassFactory]:
        """Layouts, fusion and kernels."""
        from glow.backends.cpu.passes import PASSES

        return PASSES

    def reference_functions(
        self, module: ModuleOp
    ) -> Mapping[type[Operation], ReferenceFunction]:
        """The nodes on plain weights, unpacked from the order of the module's target."""
        from glow.backends.cpu.layout.packed_weights import packings
        from glow.backends.cpu.reference.nodes import cpu_functions

        return cpu_functions(packings(module))

    def is_legal(self, op: NodeOp) -> bool:
        """What there are kernels for, or scalar code."""
        from glow.backends.cpu.legality import is_legal

        return is_legal(op, self.selectors())

    def refuses(self, op: Operation) -> str | None:
        """What is legal, has a lowering, computes on quantized elements or names memory."""
        from glow.dialects.instr import find_instruction
        from glow.dialects.node import NodeOp
        from glow.lowering.lower_nodes.lower_nodes import LOWERINGS

        if (other := super().refuses(op)) is not None:
            return other
        if not isinstance(op, NodeOp):  # Casts, and the control flow around nodes.
            return None
        is_lowered = op.is_quantized or type(op) in LOWERINGS
        if is_lowered or find_instruction(type(op)) is None or self.is_legal(op):
            return None
        return "there is no kernel for it"

    def quantized_rewrites(self) -> Mapping[type[Operation], Rewrite]:
        """Products and tables of bytes, quantization of rows, weights of a few bits."""
        from glow.backends.cpu.quantized import REWRITES

        return REWRITES

    def prefers_f32(self, op: Operation, options: CompileOptions) -> bool:
        """Products without dot products of pairs, and those with few multiplications."""
        from glow.backends.cpu.passes.half_kernels import prefers_f32
        from glow.lowering.target.target import Target

        return prefers_f32(op, Target.from_string(options.target), options.numerics)

    def keeps_half(self, op: Operation, target: Target) -> bool:
        """Products of bf16 where there are dot products of pairs."""
        from glow.backends.cpu.passes.half_kernels import stays_half

        return stays_half(op, target)

    def estimate_cost(
        self, op: Operation, options: CompileOptions | None = None
    ) -> float | None:
        """By the machine model of the target."""
        from glow.backends.cpu.estimate import estimate_seconds
        from glow.lowering.target.target import Target
        from glow.options import CompileOptions
        from glow.runtime.threads.cores import available_cores

        options = options or CompileOptions(threads=1)
        target = Target.from_string(options.target)
        threads = options.threads or available_cores()
        return estimate_seconds(op, target, threads, options.numerics)

    def pipeline(self, options: CompileOptions) -> Pipeline:
        """Layouts and fused nodes, planned instructions, loops, machine code.

        Raises GlowError for a GPU: the CPU's kernels read weights in another order.
        """
        from glow.backends.cpu.pipeline import cpu_pipeline

        # By its name: the table of targets is loaded when passes are.
        if options.target.startswith("sm_"):
            raise GlowError(f"{options.target} is a GPU", hint="--backend=cuda")
        return cpu_pipeline(options)

    def compile(self, module: ModuleOp, options: CompileOptions) -> CompiledFunction:
        """Native code of the module's main function."""
        from glow.backends.cpu.native_function import build_native_function
        from glow.lowering.target.target_names import runnable_target
        from glow.signature import main_function

        target = runnable_target(options.target)
        table = self.kernel_table()
        if options.fills_outputs:
            from glow.passes.instr.fill_outputs import fill_outputs

            fill_outputs(main_function(module))
        shares = options.shares_constants
        return build_native_function(module, target, options.threads, table, shares)

    def export(
        self, module: ModuleOp, phase: str, options: CompileOptions
    ) -> str | bytes:
        """LLVM IR, assembly or an object file of a program of loops."""
        from glow.lowering.llvm_text.emit import emit_module
        from glow.lowering.loops_to_llvm.convert_loops_to_llvm import lower_module
        from glow.lowering.target.target import Target
        from glow.runtime.native_code import assembly, compile_object

        machine = Target.from_string(options.target)
        text = emit_module(lower_module(module, machine).ops, machine)
        if phase == "llvm":
            return text
        return (
            assembly(text, machine) if phase == "asm" else compile_object(text, machine)
        )

    def bundle_program(
        self, modules: Mapping[str, ModuleOp], request: BundleRequest
    ) -> BundleProgram:
        """Kernels and mains in LLVM IR, and the weights behind each other."""
        from glow.backends.cpu.bundle_program import build_bundle_program

        return build_bundle_program(modules, request, self.kernel_table())

    def loop_program(
        self, modules: Mapping[str, ModuleOp], request: BundleRequest
    ) -> LoopProgram:
        """Kernels and mains as loops, and the weights behind each other."""
        from glow.backends.cpu.bundle_program import build_loop_program

        return build_loop_program(modules, request, self.kernel_table())

    def verify(self, module: ModuleOp) -> None:
        """Packed layouts mean something for one target only, which has to be there."""
        from glow.lowering.target.program_target import program_target

        if program_target(module) is None:
            raise GlowError(
                "the program has packed layouts, and does not say for which target",
                hint="lower the network anew",
            )

    def prepare(self) -> None:
        """LLVM is loaded, and generates the pool of threads; the machine is measured once."""
        from glow.runtime.caches.calibration import calibration_file
        from glow.runtime.threads.thread_pool import thread_pool

        thread_pool()
        path = calibration_file()
        if path is not None and not path.exists():
            from glow.runtime.calibration.background import calibrate_later

            calibrate_later(path)

    def stored_program(self, function: CompiledFunction) -> NativeProgram | None:
        """Objects, packed weights, and the values that variables have."""
        stored = getattr(function, "stored", None)
        return None if stored is None else stored()

    def load_program(
        self, program: NativeProgram, threads: int | None, device: str | None = None
    ) -> CompiledFunction:
        """Linked anew; neither the compiler nor LLVM is loaded."""
        from glow.runtime.native_function import native_function

        return native_function(program, threads)

    def devices(self) -> Sequence[Device]:
        """This machine."""
        from glow.backends.host_device import host_device

        return (host_device(self.name),)

    def inspection(self) -> Inspection:
        """Algorithms, tiles, costs and times of the kernels."""
        from glow.backends.cpu.report.inspection import CpuInspection

        return CpuInspection(self.kernel_table())

    def subject(self, job: Job) -> Subject:
        """Its kernels, each alone or in the network, on this machine or on a board."""
        if job.bench is not None:
            from glow.backends.cpu.tuning.board_subject import BoardSubject

            return BoardSubject(job, job.bench)
        from glow.backends.cpu.tuning.subject import CpuSubject

        return CpuSubject(job)

    def tuning_features(self) -> Sequence[str]:
        """Sizes, tiles, remainders, bytes, and what a core does in a cycle."""
        from glow.backends.cpu.tuning.features import FEATURES

        return tuple(FEATURES)
