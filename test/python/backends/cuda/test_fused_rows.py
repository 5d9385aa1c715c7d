"""Sums over rows with element-wise work around them for many threads, in the simulator."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
import pytest
from support.gpu.assembler import assemble
from support.gpu.mutants import removed
from support.programs.upstream import ABSENT, find_mlir_opt, mlir_opt_each
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from glow import GlowError
from glow.backends.cpu import dialect as cpu
from glow.backends.cpu.dialect.fused_rows import rows_of_operand
from glow.backends.cpu.kernels.reduction.fused_rows import FusedRowsSpec, RowOperand
from glow.backends.cuda.kernels.gpu_builder import GpuKernel
from glow.backends.cuda.kernels.reduction.fused_rows import build_thread_rows
from glow.backends.cuda.ptx import gpu_kernels_ptx
from glow.dialects.gpu import gpu
from glow.dialects.node import shape_of
from glow.frontends.mlir import parse_text
from glow.interpreter import run
from glow.interpreter.gpu.memory import Report
from glow.interpreter.simt import run_kernel
from glow.lowering.loop_builder.scalar_region import ScalarRegion
from glow.lowering.target.target import Target
from glow.universe import new_context

TARGET = Target.from_string("sm_80")
Array = np.ndarray
Shape = tuple[int, ...]


def type_of(shape: Shape, element: str = "f32") -> str:
    """The text of a tensor's type."""
    return f"tensor<{''.join(f'{extent}x' for extent in shape)}{element}>"


@dataclass
class Case:
    """`cpu.fused_rows` of a region's text: `yields` of its values."""

    space: Shape
    operands: list[Shape]
    """The last one is of booleans."""
    body: list[str]
    yields: list[tuple[str, bool]]
    """Names, and whether a value has a number a column."""
    inputs: list[Array] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The module."""
        elements = ["f32"] * (len(self.operands) - 1) + ["i1"]
        types = [*map(type_of, self.operands, elements)]
        row = (*self.space[:-1], 1)
        results = [type_of(self.space if whole else row) for _, whole in self.yields]
        names = [f"%y{k}" for k in range(len(results))]
        given = [f"%x{k}" for k in range(len(types))]
        scalars = (f"%v{k}: {element}" for k, element in enumerate(elements))
        arguments = ", ".join(f"{x}: {t}" for x, t in zip(given, types, strict=True))
        yielded = ", ".join(name for name, _ in self.yields)
        return (
            f"func.func @main({arguments}) -> ({', '.join(results)}) {{\n"
            f"{', '.join(names)} = cpu.fused_rows {', '.join(given)} {{\n"
            f"^bb0({', '.join(scalars)}):\n{chr(10).join(self.body)}\n"
            f"glow.yield {yielded}\n}} : {', '.join(results)}\n"
            f"func.return {', '.join(names)} : {', '.join(results)}\n}}"
        )

    @cached_property
    def node(self) -> Operation:
        """The node."""
        self.module = parse_text(new_context(), self.text, "rows.mlir")
        self.module.verify()
        (node,) = (op for op in self.module.walk() if isinstance(op, cpu.FusedRowsOp))
        return node

    def operand(self, shape: Shape) -> RowOperand:
        """How a tensor of that shape has rows."""
        rows = rows_of_operand(shape, self.space)
        assert rows is not None
        return RowOperand(rows, shape[-1] == self.space[-1])

    @property
    def spec(self) -> FusedRowsSpec:
        """What the kernel is built from."""
        node = self.node
        return FusedRowsSpec(
            int(np.prod(self.space[:-1])),
            self.space[-1],
            tuple(self.operand(shape_of(value)) for value in node.operands),
            tuple(self.operand(shape_of(value)) for value in node.results),
            ScalarRegion(node.regions[0].block),
        )

    @property
    def kernel(self) -> GpuKernel:
        """The kernel, checked."""
        kernel = build_thread_rows(self.spec, TARGET, "fused_rows")
        kernel.module.verify()
        return kernel

    def buffers(self) -> list[Array]:
        """The arguments of the kernel; nothing is in the results."""
        outs = [np.full(shape_of(y), -77, np.float32) for y in self.node.results]
        inputs = [x.astype(np.int8) if x.dtype == bool else x for x in self.inputs]
        types = [type_.get_shape() for type_ in self.spec.buffers]
        pairs = zip([*outs, *inputs], types, strict=True)
        return [x.reshape(shape) for x, shape in pairs]

    def simulate(self) -> tuple[list[Array], Report]:
        """What the kernel writes, and what it cost."""
        buffers = self.buffers()
        report = run_kernel(self.kernel.function, buffers)
        return buffers[: len(self.yields)], report

    def expected(self) -> list[Array]:
        """What the interpreter computes."""
        self.node.verify()
        return list(run(self.module, self.inputs))


def random_case(number: int) -> Case:
    """Sums that wait for each other, and for numbers of rows; operands that repeat."""
    random = np.random.default_rng(number)
    is_long = number % 5 == 4
    extent = int(random.integers(1025, 1400) if is_long else random.integers(2, 150))
    extent = 4 * -(-extent // 4) if number % 2 else extent
    outer, inner = (int(x) for x in random.integers(1, 3 if is_long else 5, 2))
    space = (outer, inner, extent)
    operands = [space, (inner, extent), (extent,), (outer, inner, 1)]
    operands.append(space if number % 3 else (extent,))
    vectors = {"%v0": True, "%v1": True, "%v2": True, "%v3": False}
    body = [f"%c = arith.constant {1 / extent:e} : f32"]

    def pick() -> str:
        return str(random.choice(list(vectors)))

    def add(line: str, is_vector: bool) -> None:
        name = f"%n{len(body)}"
        body.append(f"{name} = {line} : f32")
        vectors[name] = is_vector

    for _ in range(int(random.integers(3, 9))):
        kind, a, b = str(random.choice(["sum", "exp", "select", "two"])), pick(), pick()
        if kind == "sum":
            add(f"cpu.row_sum {a}", False)
            add(f"arith.mulf {list(vectors)[-1]}, %c", False)
        elif kind == "exp":
            add(f"math.tanh {a}", vectors[a])
            add(f"math.exp {list(vectors)[-1]}", vectors[a])
        elif kind == "select":
            add(f"arith.select %v4, {a}, {b}", True)
        else:
            name = str(random.choice(["addf", "subf", "maximumf"]))
            add(f"arith.{name} {a}, {b}", vectors[a] or vectors[b])
    add("cpu.row_sum %v0", False)
    last = list(vectors)[-1]
    yields = [(last, False), *((n, v) for n, v in list(vectors.items())[-4:-1])]
    case = Case(space, operands, body, yields)
    case.inputs = [random.standard_normal(s).astype(np.float32) for s in operands[:-1]]
    case.inputs.append(random.random(operands[-1]) < 0.5)
    return case


@pytest.mark.gpu
@pytest.mark.parametrize("number", range(24))
def test_random_rows_are_the_interpreters(number: int) -> None:
    """Rows of a warp and of a block, aligned and not, of sums one behind the other."""
    case = random_case(number)
    found, report = case.simulate()
    for result, expected in zip(found, case.expected(), strict=True):
        expected = expected.reshape(result.shape)
        scale = np.abs(expected).max(initial=1)
        assert np.abs(result - expected).max(initial=0) <= 2e-5 * scale
    assert report.bank_conflicts == 0


def norm(rows: int, columns: int) -> Case:
    """A sum of two tensors, and its root mean square norm."""
    body = [
        f"%c = arith.constant {1 / columns:e} : f32",
        "%x = arith.addf %v0, %v1 : f32",
        "%p = arith.mulf %x, %x : f32",
        "%s = cpu.row_sum %p : f32",
        "%m = arith.mulf %s, %c : f32",
        "%r = math.rsqrt %m : f32",
        "%y = arith.mulf %x, %r : f32",
        "%d = arith.subf %y, %x : f32",
        "%t = cpu.row_sum %d : f32",
        "%z = arith.select %v2, %t, %y : f32",
    ]
    space = (rows, columns)
    case = Case(space, [space, space, space], body, [("%x", True), ("%z", True)])
    case.inputs = [np.ones(space, np.float32)] * 2 + [np.zeros(space, bool)]
    return case


@pytest.mark.gpu
def test_nan_stays_in_its_row() -> None:
    case = norm(6, 40)
    case.inputs[0] = case.inputs[0].copy()
    case.inputs[0][3, 7] = np.nan
    found, _ = case.simulate()
    for result, expected in zip(found, case.expected(), strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-6)
    assert np.isnan(found[1]).any(axis=1).tolist() == [k == 3 for k in range(6)]


def test_a_missing_barrier_or_exchange_is_found() -> None:
    """Without a barrier there is a race; without an exchange, other sums."""
    case = norm(1, 1028)
    mutants = list(removed(gpu.BarrierOp, case.kernel))
    assert len(mutants) == 2
    for function in mutants:
        with pytest.raises(GlowError, match="race: "):
            run_kernel(function, case.buffers())
    short = norm(3, 40)
    short.inputs[0] = np.random.default_rng(0).random((3, 40)).astype(np.float32)
    short.inputs[2] = np.ones((3, 40), bool)
    _, expected = short.expected()
    mutants = list(removed(gpu.ShuffleOp, short.kernel))
    assert len(mutants) == 10
    for function in mutants:
        buffers = short.buffers()
        run_kernel(function, buffers)
        assert not np.allclose(buffers[1], expected, rtol=2e-5)


@pytest.mark.parametrize("gpu_name", ["sm_80", "sm_90"])
def test_fused_rows_assemble(gpu_name: str, tmp_path: Path) -> None:
    """No spills; what threads read and write has 16 bytes where it is f32."""
    target = Target.from_string(gpu_name)
    specs = [norm(128, 512).spec, norm(16, 4096).spec]
    kernels = [
        build_thread_rows(spec, target, f"rows{k}") for k, spec in enumerate(specs)
    ]
    text = gpu_kernels_ptx(kernels, target)
    for entry in text.split(".visible .entry ")[1:]:
        assert "ld.global.nc.f32" not in entry
        assert "ld.global.f32" not in entry
        assert "st.global.f32" not in entry
    assert all(one.spills == 0 for one in assemble(text, gpu_name, tmp_path))


@pytest.mark.skipif(find_mlir_opt() is None, reason=ABSENT)
def test_upstream_reads_kernels() -> None:
    kernels = [norm(6, 40).kernel, norm(1, 1028).kernel]
    texts = [str(ModuleOp([kernel.module.clone()])) + "\n" for kernel in kernels]
    for printed in mlir_opt_each(texts):
        assert "gpu.shuffle" in printed
