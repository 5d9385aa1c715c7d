"""The instruction passes keep what programs compute, on random graphs and loops."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from support.nodes.differential import Array, assert_all_close, random_array
from support.nodes.node_examples import LOOP
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from glow.dialects import instr
from glow.frontends.mlir import parse_text
from glow.interpreter import run
from glow.lowering.glow_to_instr import GlowToInstrPass
from glow.passes.instr import PASSES
from glow.passes.instr.accesses import AccessTable
from glow.passes.instr.arrange import working_ops
from glow.passes.instr.dependencies import dependencies_of
from glow.passes.instr.fit_memory import FitMemoryPass
from glow.passes.instr.lifetimes import lifetimes
from glow.passes.instr.packing.interval_packing import live_bound
from glow.passes.instr.schedule_for_memory import (
    best_order,
    child_memory_order,
    list_order,
    peak_of,
)
from glow.universe import new_context

PIPELINE = (
    "schedule-for-memory",
    "eliminate-copies",
    "eliminate-dead-stores",
    "stack-data-parallel",
    "share-buffers",
    "plan-memory",
)
OTHERS = (
    "hoist-deallocs", "sink-allocs", "eliminate-dead-allocs", "simplify-instr",
)  # fmt: skip
SEEDS = range(12)
UNARY = ("relu", "neg", "abs", "tanh", "exp")
BINARY = ("add", "sub", "mul", "max", "min")


class GraphWriter:
    """Writes the text of a random graph on values of a few shapes."""

    def __init__(self, seed: int) -> None:
        self.choose = random.Random(seed)
        self.lines: list[str] = []
        self.shapes: dict[str, tuple[int, ...]] = {}

    def text(self, steps: int = 30) -> str:
        """A function of two arguments with two or three results."""
        self.write_body(steps)
        names = list(self.shapes)[2:]
        results = self.choose.sample(names, min(len(names), 3))
        types = ", ".join(tensor(self.shapes[name]) for name in results)
        return (
            f"func.func @main(%x: {tensor((4, 6))}, %y: {tensor((4, 6))}) -> ({types}) {{\n"
            + "\n".join(self.lines)
            + f"\nfunc.return {', '.join(results)} : {types}\n}}"
        )

    def loop_text(self, steps: int = 12) -> str:
        """A function whose loop carries three values and yields others or the same."""
        self.write_body(steps)
        self.shapes["%z"] = (4, 6)
        names = [name for name, shape in self.shapes.items() if shape == (4, 6)]
        yielded = ", ".join(self.choose.choices(names, k=3))
        kind = tensor((4, 6))
        kinds = ", ".join([kind] * 3)
        body = "\n".join(self.lines)
        return f"""
            func.func @main(%a: {kind}, %b: {kind}) -> ({kinds}) {{
              %first = arith.constant 0 : index
              %end = arith.constant 3 : index
              %step = arith.constant 1 : index
              %p, %q, %r = scf.for %i = %first to %end step %step
                  iter_args(%x = %a, %y = %b, %z = %a) -> ({kinds}) {{
                {body}
                scf.yield {yielded} : {kinds}
              }}
              func.return %p, %q, %r : {kinds}
            }}"""

    def while_text(self, steps: int = 12) -> str:
        """A loop by a condition, and a branch in it on the same values."""
        self.write_body(steps)
        self.shapes["%z"] = (4, 6)
        names = [name for name, shape in self.shapes.items() if shape == (4, 6)]
        one, other, last = (
            ", ".join(self.choose.choices(names, k=3)) for _ in range(3)
        )
        kind = tensor((4, 6))
        kinds, body = ", ".join([kind] * 3), "\n".join(self.lines)
        return f"""
            func.func @main(%a: {kind}, %b: {kind}) -> ({kinds}) {{
              %zero = glow.splat 0 : tensor<i64>
              %one = glow.splat 1 : tensor<i64>
              %three = glow.splat 3 : tensor<i64>
              %k, %p, %q, %r = scf.while (%n = %zero, %x = %a, %y = %b, %z = %a)
                  : (tensor<i64>, {kinds}) -> (tensor<i64>, {kinds}) {{
                %left = glow.less %n, %three : tensor<i1>
                %go = tensor.extract %left[] : tensor<i1>
                scf.condition(%go) %n, %x, %y, %z : tensor<i64>, {kinds}
              }} do {{
              ^bb0(%n: tensor<i64>, %x: {kind}, %y: {kind}, %z: {kind}):
                %m = glow.add %n, %one : tensor<i64>
                %early = glow.less %n, %one : tensor<i1>
                %is_early = tensor.extract %early[] : tensor<i1>
                %u, %v, %w = scf.if %is_early -> ({kinds}) {{
                  {body}
                  scf.yield {one} : {kinds}
                }} else {{
                  {body}
                  scf.yield {other} : {kinds}
                }}
                {body}
                scf.yield %m, {last.replace("%x", "%u").replace("%y", "%v")} : tensor<i64>, {kinds}
              }}
              func.return %p, %q, %r : {kinds}
            }}"""

    def write_body(self, steps: int) -> None:
        """Append random nodes on `%x` and `%y`."""
        self.shapes = {"%x": (4, 6), "%y": (4, 6)}
        makers = (
            self.unary, self.unary, self.binary, self.binary, self.broadcast,
            self.splat, self.concat, self.slice, self.reshape, self.transpose,
            self.matmul, self.compare,
        )  # fmt: skip
        for _ in range(steps):
            self.choose.choice(makers)()

    def add(self, text: str, shape: tuple[int, ...], element: str = "f32") -> str:
        """Append `%n = text : type`."""
        name = f"%v{len(self.lines)}"
        self.lines.append(f"{name} = glow.{text} : {tensor(shape, element)}")
        if element == "f32":
            self.shapes[name] = shape
        return name

    def value(self, like: tuple[int, ...] | None = None) -> str:
        """A random value, recent ones more often, of the given shape if any."""
        names = [n for n, s in self.shapes.items() if like is None or s == like]
        recent = names[-6:] if self.choose.random() < 0.7 else names
        return self.choose.choice(recent)

    def unary(self) -> None:
        x = self.value()
        self.add(f"{self.choose.choice(UNARY)} {x}", self.shapes[x])

    def binary(self) -> None:
        x = self.value()
        y = self.value(self.shapes[x])
        self.add(f"{self.choose.choice(BINARY)} {x}, {y}", self.shapes[x])

    def broadcast(self) -> None:
        x = self.value()
        shape = self.shapes[x]
        row = self.add(f"slice {x} {starts(shape, 1)}", (1, *shape[1:]))
        self.add(f"{self.choose.choice(BINARY)} {x}, {row}", shape)

    def splat(self) -> None:
        x = self.value()
        shape = self.shapes[x]
        number = self.add("splat 0.5", self.choose.choice([shape, (1, 1)]))
        self.add(f"{self.choose.choice(BINARY)} {x}, {number}", shape)

    def concat(self) -> None:
        x = self.value()
        shape = self.shapes[x]
        y = self.value(shape)
        axis = self.choose.randrange(len(shape))
        longer = tuple(2 * s if n == axis else s for n, s in enumerate(shape))
        if longer[axis] <= 12:
            self.add(f"concat {x}, {y} axis {axis}", longer)

    def slice(self) -> None:
        x = self.value()
        shape = self.shapes[x]
        if shape[0] > 1:
            rows = max(shape[0] // 2, 1)
            start = self.choose.randrange(shape[0] - rows + 1)
            self.add(f"slice {x} {starts(shape, rows, start)}", (rows, *shape[1:]))

    def reshape(self) -> None:
        x = self.value()
        rows, columns = self.shapes[x]
        self.add(f"reshape {x}", (columns, rows))

    def transpose(self) -> None:
        x = self.value()
        rows, columns = self.shapes[x]
        self.add(f"transpose {x} permutation [1, 0]", (columns, rows))

    def matmul(self) -> None:
        x = self.value()
        rows = self.shapes[x][0]
        product = self.add(f"matmul {x}, {x} transpose_rhs", (rows, rows))
        self.add(f"tanh {product}", (rows, rows))

    def compare(self) -> None:
        x = self.value()
        shape = self.shapes[x]
        mask = self.add(f"less {x}, {self.value(shape)}", shape, "i1")
        self.add(f"select {mask}, {x}, {self.value(shape)}", shape)


def tensor(shape: Sequence[int], element: str = "f32") -> str:
    """The type's text."""
    return f"tensor<{'x'.join(map(str, shape))}x{element}>"


def starts(shape: Sequence[int], rows: int, start: int = 0) -> str:
    """The attributes of a slice of the first axis."""
    zeros, ones = [0] * (len(shape) - 1), [1] * len(shape)
    return f"starts {[start, *zeros]} sizes {[rows, *shape[1:]]} steps {ones}"


LSTM_LIKE = """
func.func @main(%x: tensor<5x1x12xf32>, %h: tensor<1x4xf32>, %c: tensor<1x4xf32>)
    -> (tensor<5x1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>) {
  %first = arith.constant 0 : index
  %end = arith.constant 5 : index
  %step = arith.constant 1 : index
  %all = glow.splat 0.0 : tensor<5x1x4xf32>
  %w = glow.splat 0.25 : tensor<4x12xf32>
  %a, %hn, %cn = scf.for %i = %first to %end step %step
      iter_args(%y = %all, %hs = %h, %cs = %c)
      -> (tensor<5x1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>) {
    %row = glow.dynamic_slice %x, %i : tensor<1x12xf32>
    %p = glow.matmul %hs, %w : tensor<1x12xf32>
    %g = glow.add %row, %p : tensor<1x12xf32>
    %g0 = glow.slice %g starts [0, 0] sizes [1, 4] steps [1, 1] : tensor<1x4xf32>
    %g1 = glow.slice %g starts [0, 4] sizes [1, 4] steps [1, 1] : tensor<1x4xf32>
    %g2 = glow.slice %g starts [0, 8] sizes [1, 4] steps [1, 1] : tensor<1x4xf32>
    %in = glow.sigmoid %g0 : tensor<1x4xf32>
    %out = glow.sigmoid %g1 : tensor<1x4xf32>
    %new = glow.tanh %g2 : tensor<1x4xf32>
    %kept = glow.mul %out, %cs : tensor<1x4xf32>
    %added = glow.mul %in, %new : tensor<1x4xf32>
    %next_c = glow.add %kept, %added : tensor<1x4xf32>
    %squashed = glow.tanh %next_c : tensor<1x4xf32>
    %next_h = glow.mul %out, %squashed : tensor<1x4xf32>
    %y2 = glow.dynamic_update %y, %next_h, %i : tensor<5x1x4xf32>
    scf.yield %y2, %next_h, %next_c : tensor<5x1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>
  }
  func.return %a, %hn, %cn : tensor<5x1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>
}
"""
SWAP = """
func.func @main(%x: tensor<3xf32>, %y: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %first = arith.constant 0 : index
  %end = arith.constant 3 : index
  %step = arith.constant 1 : index
  %p, %q = scf.for %i = %first to %end step %step
      iter_args(%a = %x, %b = %y) -> (tensor<3xf32>, tensor<3xf32>) {
    %c = glow.add %a, %b : tensor<3xf32>
    %d = glow.relu %c : tensor<3xf32>
    %e = glow.mul %d, %a : tensor<3xf32>
    scf.yield %b, %e : tensor<3xf32>, tensor<3xf32>
  }
  func.return %p, %q : tensor<3xf32>, tensor<3xf32>
}
"""
VIEW = """
func.func @main(%x: tensor<2x3xf32>, %y: tensor<3x2xf32>)
    -> (tensor<2x3xf32>, tensor<3x2xf32>) {
  %first = arith.constant 0 : index
  %end = arith.constant 3 : index
  %step = arith.constant 1 : index
  %p, %q = scf.for %i = %first to %end step %step
      iter_args(%a = %x, %b = %y) -> (tensor<2x3xf32>, tensor<3x2xf32>) {
    %c = glow.exp %a : tensor<2x3xf32>
    %d = glow.reshape %a : tensor<3x2xf32>
    scf.yield %c, %d : tensor<2x3xf32>, tensor<3x2xf32>
  }
  func.return %p, %q : tensor<2x3xf32>, tensor<3x2xf32>
}
"""
LOOPS = {
    "view": (VIEW, [(2, 3), (3, 2)]),
    "loop": (LOOP, [(4, 3), (4, 3), (3,)]),
    "lstm": (LSTM_LIKE, [(5, 1, 12), (1, 4), (1, 4)]),
    "swap": (SWAP, [(3,), (3,)]),
}


def instructions(text: str) -> tuple[Context, ModuleOp]:
    """The instruction level of a graph."""
    ctx = new_context()
    module = parse_text(ctx, text, "test.mlir")
    GlowToInstrPass().apply(ctx, module)
    return ctx, module


def main_block(module: ModuleOp):
    function = module.body.block.first_op
    assert isinstance(function, FuncOp)
    return function.body.block


def check_passes(text: str, inputs: Sequence[Array], names: Sequence[str]) -> ModuleOp:
    """Apply the passes one by one; contract and results hold after each."""
    ctx = new_context()
    expected = run(parse_text(ctx, text, "test.mlir"), inputs)
    ctx, module = instructions(text)
    for name in ("verify-instr", *names):
        PASSES[name]()().apply(ctx, module)
        module.verify()
        PASSES["verify-instr"]()().apply(ctx, module)
        assert_all_close(run(module, inputs), expected, 1e-5)
    return module


@pytest.mark.parametrize("seed", SEEDS)
def test_pipeline_on_random_graphs(seed: int) -> None:
    inputs = [random_array((4, 6), seed=n) for n in (seed, seed + 1)]
    check_passes(GraphWriter(seed).text(), inputs, PIPELINE)


@pytest.mark.parametrize("seed", SEEDS)
def test_passes_in_any_order(seed: int) -> None:
    names = random.Random(seed).choices((*PIPELINE[:-1], *OTHERS), k=8)
    inputs = [random_array((4, 6), seed=n) for n in (seed, seed + 1)]
    check_passes(GraphWriter(seed + 100).text(20), inputs, [*names, "plan-memory"])


@pytest.mark.parametrize("seed", SEEDS)
def test_pipeline_on_random_loops(seed: int) -> None:
    inputs = [random_array((4, 6), seed=n) for n in (seed, seed + 1)]
    check_passes(GraphWriter(seed + 200).loop_text(), inputs, PIPELINE)
    check_passes(GraphWriter(seed + 300).while_text(), inputs, PIPELINE)


@pytest.mark.parametrize("seed", SEEDS)
def test_memory_is_fitted(seed: int) -> None:
    """Less than half of the memory, where that is possible, and the same results."""
    text = GraphWriter(seed + 300).text(20)
    inputs = [random_array((4, 6), seed=n) for n in (seed, seed + 1)]
    ctx, module = instructions(text)
    expected = run(module, inputs)
    function = main_block(module).parent_op()
    assert isinstance(function, FuncOp)
    before = live_bound(lifetimes(function))
    FitMemoryPass(before // 2).apply(ctx, module)
    module.verify()
    PASSES["verify-instr"]()().apply(ctx, module)
    assert_all_close(run(module, inputs), expected, 1e-5)
    assert live_bound(lifetimes(function)) <= before


@pytest.mark.parametrize("name", LOOPS)
def test_loops(name: str) -> None:
    text, shapes = LOOPS[name]
    inputs = [random_array(shape, seed=n) for n, shape in enumerate(shapes)]
    check_passes(text, inputs, PIPELINE)
    check_passes(text, inputs, (*PIPELINE[1:5], *PIPELINE[:5]))


def test_gates_of_a_recurrent_layer_are_one_stack() -> None:
    text, shapes = LOOPS["lstm"]
    inputs = [random_array(shape, seed=n) for n, shape in enumerate(shapes)]
    module = check_passes(text, inputs, PIPELINE)
    stacks = [op for op in module.walk() if isinstance(op, instr.StackedOp)]
    assert len(stacks) == 1


@pytest.mark.parametrize("seed", SEEDS)
def test_schedules_are_allowed_and_never_worse(seed: int) -> None:
    _, module = instructions(GraphWriter(seed).text(40))
    block = main_block(module)
    graph = dependencies_of(AccessTable(block, working_ops(block)))
    given = peak_of(graph, range(len(graph.before)))
    for order in (child_memory_order(graph), list_order(graph), best_order(graph)):
        assert sorted(order) == list(range(len(graph.before)))
        place = {number: at for at, number in enumerate(order)}
        assert all(
            place[other] < place[number]
            for number, before in enumerate(graph.before)
            for other in before
        )
    assert peak_of(graph, best_order(graph)) <= given


def test_lifetimes_end_at_the_last_use() -> None:
    ctx, module = instructions(GraphWriter(3).text())
    PASSES["schedule-for-memory"]()().apply(ctx, module)
    function = main_block(module).parent_op()
    assert isinstance(function, FuncOp)
    ops = list(function.body.walk())
    for lifetime in lifetimes(function):
        assert isinstance(ops[lifetime.end], instr.DeallocOp)
