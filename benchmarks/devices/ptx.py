"""Assembles all kernels of networks for NVIDIA's GPUs, and says what they need.

python -m benchmarks.devices.ptx                       the twelve networks, sm_80 to sm_90a
python -m benchmarks.devices.ptx resnet50 --gpu sm_90

No GPU is needed, but `ptxas` (`pip install nvidia-cuda-nvcc`, or a toolkit); without it nothing is
assembled, which is no success. A line a network: its kernels, those of them for many threads, the
seconds of a compilation without a cache, kernels that spill, and how far registers and shared
memory of contractions are from what the cost model says. Exit code 1 for a kernel that is rejected
or, of those for many threads, spills.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import cast

sys.path.insert(0, str(Path(__file__).parents[2]))

from xdsl.dialects.builtin import ModuleOp

from benchmarks.networks import NETWORKS, QUANTIZED_NETWORKS, WIDER_NETWORKS
from glow import GlowError
from glow.backends.cpu.passes.instr_to_loops import build_program
from glow.backends.cpu.program.program import KernelRequest, Program
from glow.backends.cuda.assembler import Assembled, assemble, find_ptxas
from glow.backends.cuda.kernel_assembly import KernelAssembly
from glow.backends.cuda.kernel_table import thread_table
from glow.backends.cuda.kernels.contraction_spec import ContractionSpec
from glow.backends.cuda.product import TileCost, product_of
from glow.backends.cuda.ptx import kernel_assemblies
from glow.backends.cuda.tiling import tile_cost
from glow.compiler import load, lower
from glow.lowering.target.gpu_machine import GPU_MACHINES
from glow.lowering.target.target import Target
from glow.options import CompileOptions
from glow.signature import main_function

GPUS = ("sm_80", "sm_90", "sm_90a")


@dataclass(frozen=True)
class Kernel:
    """A kernel of a network, as it was asked for and as the assembler sees it."""

    request: KernelRequest
    assembled: Assembled
    gpu: str

    @property
    def cost(self) -> TileCost | None:
        """What the cost model says of a contraction."""
        spec = cast("tuple[object, ...]", self.request.spec)[-1]
        if not isinstance(spec, ContractionSpec):
            return None
        return tile_cost(product_of(spec), spec.tile, GPU_MACHINES[self.gpu])


def program_of(model: Path, options: CompileOptions) -> Program:
    """The kernel calls of a network."""
    module = cast("ModuleOp", lower(load(model), "instr", options))
    table = thread_table("cuda", options.numerics)
    target = Target.from_string(options.target)
    return build_program(main_function(module), target, table)


def assembled(ptxas: str, gpu: str, kernel: KernelAssembly, folder: Path) -> Assembled:
    """What the assembler says of a kernel, with the shared memory that its launch gives."""
    (found,) = assemble(ptxas, kernel.text, gpu, folder)
    given = found.shared_bytes + kernel.dynamic_bytes
    return found._replace(shared_bytes=given)


def kernels_of(program: Program, gpu: str, ptxas: str) -> Iterator[Kernel]:
    """The kernels of a program, assembled; raises GlowError for one that is rejected."""
    found = kernel_assemblies(program, Target.from_string(gpu), lambda _, made: made)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor() as pool:
        texts = list(found.values())
        folders = [Path(folder) / str(number) for number in range(len(texts))]
        done = pool.map(partial(assembled, ptxas, gpu), texts, folders)
        for request, kernel in zip(program.requests().values(), done, strict=True):
            yield Kernel(request, kernel, gpu)


def line_of(name: str, gpu: str, seconds: float, kernels: Sequence[Kernel]) -> str:
    """What there is to say of a network."""
    threads = [k for k in kernels if not k.assembled.name.endswith("_entry")]
    known = [(k.assembled, k.cost) for k in threads if k.cost is not None]
    more = [found.registers - cost.registers for found, cost in known if cost]
    exact = all(
        cost and found.shared_bytes == cost.shared_bytes for found, cost in known
    )
    spills = sum(k.assembled.spills > 0 for k in threads)
    others = sum(k.assembled.spills > 0 for k in kernels) - spills
    span = f"{min(more)} to {max(more)}" if more else "none"
    return (
        f"{name:14} {gpu}  {len(kernels):3} kernels, {len(threads):3} for many threads  "
        f"{seconds:5.1f} s  spills {spills} + {others}  registers beyond the model's {span}, "
        f"shared memory {'as' if exact else 'not as'} it says"
    )


def main() -> int:
    """Assemble and print."""
    parser = argparse.ArgumentParser(description="Assemble kernels of networks.")
    parser.add_argument("names", nargs="*", metavar="NETWORK", help="twelve without")
    parser.add_argument("--gpu", action="append", choices=GPUS, help="all without one")
    parser.add_argument("--precision", default="f32", choices=("f32", "bf16", "fp16"))
    parser.add_argument("--numerics", default="default")
    parser.add_argument("-v", "--verbose", action="store_true", help="a line a kernel")
    arguments = parser.parse_args()
    ptxas = find_ptxas()
    if ptxas is None:
        print("nothing is assembled: there is no ptxas")
        return 1
    failed = 0
    for name in arguments.names or NETWORKS:
        with tempfile.TemporaryDirectory() as folder:
            model = Path(folder) / f"{name}.onnx"
            network = {**NETWORKS, **WIDER_NETWORKS, **QUANTIZED_NETWORKS}[name]()
            model.write_bytes(network.SerializeToString())
            for gpu in arguments.gpu or GPUS:
                options = CompileOptions(
                    "cuda",
                    gpu,
                    numerics=arguments.numerics,
                    precision=arguments.precision,
                )
                begin = time.perf_counter()
                try:
                    kernels = list(kernels_of(program_of(model, options), gpu, ptxas))
                except GlowError as error:
                    print(f"{name:14} {gpu}  {error.one_line()}", flush=True)
                    failed += 1
                    continue
                seconds = time.perf_counter() - begin
                print(line_of(name, gpu, seconds, kernels), flush=True)
                failed += any(
                    kernel.assembled.spills
                    for kernel in kernels
                    if not kernel.assembled.name.endswith("_entry")
                )
                if arguments.verbose:
                    for kernel in kernels:
                        print(f"    {kernel.assembled} {kernel.cost}")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
