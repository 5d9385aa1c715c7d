"""What is made of a network before anything is measured: its file, inputs, and what is expected."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from fcntl import LOCK_EX, flock
from functools import partial
from math import prod
from pathlib import Path
from typing import Any, cast

import numpy as np
from onnx import ModelProto
from xdsl.dialects.builtin import ModuleOp

import glow
from benchmarks.devices.nvidia.products import cost_of
from benchmarks.devices.nvidia.runtime_peer import reference
from benchmarks.networks import BATCHED_NETWORKS, NETWORKS, WIDER_NETWORKS, light
from benchmarks.networks.inputs import make_inputs
from glow.backends.cpu.passes.instr_to_loops import build_program
from glow.backends.cpu.program.program import KernelCall, KernelRequest, Program
from glow.backends.cuda import attention_tiling, window_tiling
from glow.backends.cuda.assembler import machine_code
from glow.backends.cuda.kernel_assembly import KernelAssembly
from glow.backends.cuda.kernel_table import thread_table
from glow.backends.cuda.kernels.attention_spec import AttentionSpec
from glow.backends.cuda.kernels.contraction_spec import ContractionSpec
from glow.backends.cuda.kernels.skinny import SkinnySpec
from glow.backends.cuda.kernels.window_spec import WindowsSpec
from glow.backends.cuda.ptx import kernel_assemblies
from glow.compiler import load, lower
from glow.lowering.target.gpu_machine import GPU_MACHINES, GpuMachine
from glow.lowering.target.target import Target
from glow.options import CompileOptions
from glow.signature import main_function

Array = np.ndarray[Any, np.dtype[Any]]

KNOWN: Mapping[str, Callable[[], ModelProto]] = {
    **NETWORKS,
    **BATCHED_NETWORKS,
    "resnet50_batch32": partial(light.build_batch, "resnet50", 32),
    **WIDER_NETWORKS,
}


def loaded(path: Path) -> ModelProto:
    """An ONNX file."""
    return ModelProto.FromString(path.read_bytes())


@dataclass(frozen=True)
class Choice:
    """A network, what its products multiply, and the GPU of its code."""

    network: str
    precision: str
    gpu: str

    @property
    def name(self) -> str:
        """For reports and files."""
        return f"{self.network} {self.precision} {self.gpu}"


@dataclass(frozen=True)
class Files:
    """Where all of a network is, below one folder for all."""

    folder: Path
    network: str

    @property
    def model(self) -> Path:
        """The ONNX file."""
        return self.folder / f"{self.network}.onnx"

    @property
    def arrays(self) -> Path:
        """Inputs by name, and results `result 0`, ..."""
        return self.folder / f"{self.network}.npz"

    def work(self, choice: Choice) -> Path:
        """What the kernels of a choice have to do."""
        return self.folder / f"{choice.name.replace(' ', '_')}.json"

    def write(self) -> None:
        """Make the file, and the arrays, where they are not there."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with self.model.with_suffix(".lock").open("w") as lock:
            flock(lock, LOCK_EX)  # Others want the same file at the same time.
            if not self.model.exists():
                written = self.model.with_suffix(".part")
                written.write_bytes(KNOWN[self.network]().SerializeToString())
                written.rename(self.model)
            if not self.arrays.exists():
                self._write_arrays()

    def _write_arrays(self) -> None:
        inputs = make_inputs(loaded(self.model))
        try:
            results = reference(str(self.model), inputs)
        except ImportError:  # Without ONNX Runtime our CPU backend says what is right.
            found = glow.compile(self.model).run(inputs)
            results = list(found.values())
        named = {f"result {number}": array for number, array in enumerate(results)}
        written = self.folder / f"{self.network}.part.npz"
        cast("Any", np.savez)(written, **inputs, **named)
        written.rename(self.arrays)

    def read(self) -> tuple[dict[str, Array], list[Array]]:
        """The inputs by name, and the results."""
        with np.load(self.arrays) as stored:
            arrays = {name: stored[name] for name in stored.files}
        results = [n for n in arrays if n.startswith("result ")]
        ordered = sorted(results, key=lambda name: int(name.split()[1]))
        inputs = {n: a for n, a in arrays.items() if n not in results}
        return inputs, [arrays[name] for name in ordered]


@dataclass(frozen=True)
class Work:
    """What a kernel of a call has to do, and what the cost model says of it."""

    kernel: str
    node: str
    bytes: int
    multiply_adds: int
    seconds: float
    """By the model; where it has none, what the bytes take."""
    how: str


def options_of(choice: Choice) -> CompileOptions:
    """Those of a compilation."""
    return CompileOptions("cuda", choice.gpu, precision=choice.precision)


def program_of(model: Path, choice: Choice) -> Program:
    """The kernel calls of a network."""
    options = options_of(choice)
    module = cast("ModuleOp", lower(load(model), "instr", options))
    table = thread_table("cuda", options.numerics)
    return build_program(main_function(module), Target.from_string(choice.gpu), table)


def multiply_adds(spec: object) -> int:
    """Those of a kernel."""
    if isinstance(spec, SkinnySpec):
        spec = spec.product
    if isinstance(spec, ContractionSpec):
        return spec.batch * spec.m * spec.n * spec.k
    if isinstance(spec, AttentionSpec):
        queries, keys = spec.queries.outer, spec.keys.outer
        return spec.batch * queries * keys * (spec.queries.depth + spec.values.outer)
    if isinstance(spec, WindowsSpec) and spec.kind == "multiply":
        return prod(spec.buffers[0].get_shape()) * spec.taps * spec.group
    return 0


def modelled(spec: object, machine: GpuMachine) -> tuple[float, str]:
    """The model's seconds of a kernel, 0 where it has none, and how it is cut."""
    if isinstance(spec, ContractionSpec | SkinnySpec):
        return cost_of(spec, machine)
    if isinstance(spec, AttentionSpec):
        cost = attention_tiling.tile_cost(spec, machine)
        tile = spec.tile
        return (
            cost.seconds if cost else 0.0
        ), f"{tile.rows} queries {tile.keys} keys {tile.stages} stages"
    if isinstance(spec, WindowsSpec):
        tile = spec.tile
        how = f"{tile.pixels} pixels {tile.lanes} lanes"
        return window_tiling.seconds_of(spec, machine), how
    return 0.0, ""


def spec_of(request: KernelRequest) -> object:
    """That of a kernel for many threads; others have words."""
    spec = request.spec
    return cast("tuple[object, ...]", spec)[-1] if isinstance(spec, tuple) else spec


def work_of(call: KernelCall, machine: GpuMachine) -> Work:
    """What a call has to do; a lookup reads no more of its table than it writes."""
    sizes = [binding.size for binding in call.bindings]
    if call.kernel.label == "gather":
        sizes[1] = min(sizes[1], sizes[0])
    spec, moved = spec_of(call.kernel), sum(sizes)
    seconds, how = modelled(spec, machine)
    least = moved / machine.dram_bytes_per_second
    counted = multiply_adds(spec)
    return Work(call.kernel.name, call.node, moved, counted, seconds or least, how)


def write_work(files: Files, choice: Choice) -> None:
    """Write what all kernels have to do, and keep them in the caches; needs no GPU."""
    program = program_of(files.model, choice)
    machine = GPU_MACHINES[choice.gpu]
    found = [asdict(work_of(call, machine)) for call in program.calls()]
    files.work(choice).write_text(json.dumps(found))

    def keep(_: str, made: KernelAssembly) -> None:
        machine_code(made.text, choice.gpu)

    kernel_assemblies(program, Target.from_string(choice.gpu), keep)


def read_work(files: Files, choice: Choice) -> list[Work]:
    """What `write_work` wrote."""
    return [Work(**fields) for fields in json.loads(files.work(choice).read_text())]
