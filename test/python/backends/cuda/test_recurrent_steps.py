"""Steps of recurrent layers for many threads, in the simulator."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from support.gpu.assembler import assemble
from support.gpu.mutants import removed
from support.programs.upstream import ABSENT, find_mlir_opt, mlir_opt_each
from xdsl.dialects.builtin import ModuleOp

from glow import GlowError
from glow.backends.cpu import dialect as cpu
from glow.backends.cpu.layout.row_packing import RowPacker
from glow.backends.cuda.kernels.gpu_builder import GpuKernel
from glow.backends.cuda.kernels.recurrence import StepSpec, StepTile, build_step
from glow.backends.cuda.ptx import gpu_kernels_ptx
from glow.backends.cuda.recurrence_tiling import SMALLEST, choose_step, step_cycles
from glow.backends.cuda.skinny_tiling import registers_of
from glow.dialects.gpu import gpu
from glow.frontends.mlir import parse_text
from glow.interpreter import run
from glow.interpreter.simt import run_kernel
from glow.lowering.loop_builder.scalar_region import ScalarRegion
from glow.lowering.target.gpu_machine import GPU_MACHINES
from glow.lowering.target.target import Target
from glow.universe import new_context

TARGET = Target.from_string("sm_80")
Array = np.ndarray

LSTM = """^bb0(%s0: f32, %s1: f32, %s2: f32, %s3: f32, %x0: f32, %x1: f32, %x2: f32, %x3: f32,
     %h: f32, %c: f32):
  %a = arith.addf %s0, %x0 : f32
  %i = math.tanh %a : f32
  %b = arith.addf %s1, %x1 : f32
  %o = math.tanh %b : f32
  %d = arith.addf %s2, %x2 : f32
  %e = math.exp %d : f32
  %f = math.tanh %e : f32
  %g = arith.addf %s3, %x3 : f32
  %k = arith.mulf %f, %c : f32
  %m = arith.mulf %i, %g : f32
  %n = arith.addf %k, %m : f32
  %q = math.tanh %n : f32
  %y = arith.mulf %o, %q : f32
  glow.yield %y, %n"""
GRU = """^bb0(%s0: f32, %s1: f32, %s2: f32, %x0: f32, %x1: f32, %x2: f32, %h: f32, %b: f32):
  %a = arith.addf %s0, %x0 : f32
  %z = math.tanh %a : f32
  %c = arith.addf %s1, %x1 : f32
  %r = math.tanh %c : f32
  %d = arith.addf %s2, %b : f32
  %e = arith.mulf %r, %d : f32
  %f = arith.addf %e, %x2 : f32
  %n = math.tanh %f : f32
  %g = arith.subf %h, %n : f32
  %k = arith.mulf %z, %g : f32
  %y = arith.addf %n, %k : f32
  glow.yield %y"""
RNN = """^bb0(%s: f32, %x: f32, %h: f32):
  %a = arith.addf %s, %x : f32
  %y = math.tanh %a : f32
  glow.yield %y"""
CELLS = {4: (LSTM, (True,)), 3: (GRU, (False,)), 1: (RNN, ())}
"""By the number of gates: the cell, and which of its other operands are states."""


@dataclass
class Case:
    """Steps of a layer with its inputs."""

    spec: StepSpec
    text: str
    inputs: list[Array]
    """Entering [steps, rows, gates * units], weights [units * gates * units], states, numbers."""

    def kernel(self) -> GpuKernel:
        """The kernel, checked."""
        kernel = build_step(self.spec, TARGET, "recurrence")
        kernel.module.verify()
        return kernel

    def expected(self) -> list[Array]:
        """The interpreter's sequence, and the last of the other states."""
        return list(run(parse_text(new_context(), self.text, "step.mlir"), self.inputs))

    def weights(self) -> Array:
        """The weights as they are packed for GPUs."""
        units, gates = self.spec.units, self.spec.gates
        packer = RowPacker(TARGET, "exact", 4)
        plain = self.inputs[1].reshape(units, gates * units)
        return packer.recurrence(plain, self.spec.rows, gates, None).array()

    def buffers(self, step: int, sequence: Array, others: list[Array]) -> list[Array]:
        """The arguments of a step, which updates all states but the hidden one in place."""
        hidden = self.inputs[2] if step == 0 else sequence[step - 1]
        states = [
            x for x, is_state in zip(others, self.spec.others, strict=True) if is_state
        ]
        read = [self.inputs[0][step], hidden, self.weights(), *others]
        types = [type_.get_shape() for type_ in self.spec.buffers]
        pairs = zip([sequence[step], *states, *read], types, strict=True)
        return [x.reshape(shape) for x, shape in pairs]

    def simulate(self) -> list[Array]:
        """The sequence, and the last of the other states."""
        function, others = self.kernel().function, [x.copy() for x in self.inputs[3:]]
        steps, rows, _ = self.inputs[0].shape
        sequence = np.full((steps, rows, self.spec.units), np.nan, np.float32)
        for step in range(steps):
            report = run_kernel(function, self.buffers(step, sequence, others))
            assert report.bank_conflicts == 0
        pairs = zip(others, self.spec.others, strict=True)
        return [sequence, *(x for x, is_state in pairs if is_state)]


def cell_of(text: str) -> ScalarRegion:
    """The region of the node in a module's text."""
    module = parse_text(new_context(), text, "step.mlir")
    (node,) = (op for op in module.walk() if isinstance(op, cpu.RecurrenceOp))
    return ScalarRegion(node.regions[0].block)


def fixed_case(number: int, sizes: tuple[int, int, int], tile: StepTile) -> Case:
    """Two steps of so many rows, units and gates."""
    random, (rows, units, gates) = np.random.default_rng(number), sizes
    body, others = CELLS[gates]
    state, columns = (rows, units), gates * units
    shapes = [(2, rows, columns), (columns * units,), state]
    shapes += [state if is_state else (units,) for is_state in others]
    types = [f"tensor<{'x'.join(map(str, shape))}xf32>" for shape in shapes]
    results = [f"tensor<2x{rows}x{units}xf32>", *[types[2]] * sum(others)]
    arguments = ", ".join(f"%a{k}: {type_}" for k, type_ in enumerate(types))
    given = ", ".join(f"%a{k}" for k in range(len(types)))
    names = ", ".join(f"%r{k}" for k in range(len(results)))
    text = (
        f"func.func @main({arguments}) -> ({', '.join(results)}) {{\n"
        f"{names} = cpu.recurrence {given} gates {gates} {{\n{body}\n}} : "
        f"{', '.join(results)}\nfunc.return {names} : {', '.join(results)}\n}}"
    )
    inputs = [random.standard_normal(shape).astype(np.float32) for shape in shapes]
    inputs[1] *= np.float32(units**-0.5)
    spec = StepSpec(rows, units, gates, cell_of(text), others, tile)
    return Case(spec, text, inputs)


def random_case(number: int) -> Case:
    """Odd sizes and whole rows of 16 bytes, tails of rows and units."""
    random = np.random.default_rng(100 + number)
    units = int(random.integers(1, 80))
    units = 4 * -(-units // 4) if number % 2 else units
    rows = int(random.choice([1, 2, 3, 5, 9]))
    tile_rows = min(rows, int(random.choice([1, 2, 3, 4])))
    tile = StepTile(tile_rows, int(random.choice([1, 2, 4])), number % 4 < 2)
    return fixed_case(number, (rows, units, (4, 3, 1)[number % 3]), tile)


@pytest.mark.gpu
@pytest.mark.parametrize("number", range(24))
def test_random_steps_are_the_interpreters(number: int) -> None:
    case = random_case(number)
    for result, expected in zip(case.simulate(), case.expected(), strict=True):
        np.testing.assert_allclose(result, expected, rtol=2e-5, atol=4e-6)


def test_lanes_read_side_by_side() -> None:
    """All but the few words of each unit takes no more sectors than its bytes fill."""
    case = fixed_case(0, (1, 64, 4), StepTile(1, 4, shares_depth=False))
    sequence = np.empty((2, 1, 64), np.float32)
    report = run_kernel(
        case.kernel().function, case.buffers(0, sequence, [case.inputs[3].copy()])
    )
    assert report.uncoalesced_sectors == 0


@pytest.mark.parametrize("shares_depth", [False, True])
def test_a_missing_barrier_or_exchange_is_found(shares_depth: bool) -> None:
    case = fixed_case(1, (2, 24, 3), StepTile(2, 1, shares_depth))
    kernel = case.kernel()
    sequence = np.empty((2, 2, 24), np.float32)
    (function,) = removed(gpu.BarrierOp, kernel)
    with pytest.raises(GlowError, match="race: "):
        run_kernel(function, case.buffers(0, sequence, case.inputs[3:]))
    expected = case.expected()[0][0]
    mutants = list(removed(gpu.ShuffleOp, kernel))
    assert len(mutants) == 5 * case.spec.product.sums
    for function in mutants:
        run_kernel(function, case.buffers(0, sequence, case.inputs[3:]))
        assert not np.allclose(sequence[0], expected, rtol=2e-5, atol=4e-6)


CHOSEN = [(1, 512, 4), (4, 512, 4), (32, 256, 3), (3, 41, 4), (1, 2048, 1)]


def chosen(sizes: tuple[int, int, int], gpu_name: str) -> StepSpec:
    """A step as it is chosen for a GPU."""
    spec = fixed_case(0, (1, 2, sizes[2]), SMALLEST).spec
    rows, units, _ = sizes
    return choose_step(replace(spec, rows=rows, units=units), GPU_MACHINES[gpu_name])


@pytest.mark.parametrize("name", GPU_MACHINES)
def test_a_small_step_waits_for_memory_twice(name: str) -> None:
    """By the model one of the LSTM's 512 units takes no longer than a kernel takes to start."""
    machine = GPU_MACHINES[name]
    spec = chosen((1, 512, 4), name)
    assert step_cycles(spec, machine) <= machine.launch_seconds * machine.clock_hz


@pytest.mark.parametrize("gpu_name", ["sm_80", "sm_90"])
def test_steps_assemble(gpu_name: str, tmp_path: Path) -> None:
    """No spills, and registers near those of the model; weights come 16 bytes at a time."""
    specs = [chosen(sizes, gpu_name) for sizes in CHOSEN]
    target = Target.from_string(gpu_name)
    kernels = [build_step(spec, target, f"step{k}") for k, spec in enumerate(specs)]
    text = gpu_kernels_ptx(kernels, target)
    entries = text.split(".visible .entry ")[1:]
    assert all("ld.global.nc.v4" in entry for entry in entries[:3])
    found = {one.name: one for one in assemble(text, gpu_name, tmp_path)}
    for k, spec in enumerate(specs):
        one = found[f"step{k}"]
        assert one.spills == 0
        assert one.registers <= registers_of(spec.product) + 16


@pytest.mark.skipif(find_mlir_opt() is None, reason=ABSENT)
def test_upstream_reads_kernels() -> None:
    kernels = [random_case(number).kernel() for number in range(2)]
    texts = [str(ModuleOp([kernel.module.clone()])) + "\n" for kernel in kernels]
    for printed in mlir_opt_each(texts):
        assert "gpu.shuffle" in printed
