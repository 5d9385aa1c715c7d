"""Random programs with variables: native code updates them as the interpreter does.

What is saved is anything: new values, old ones of other variables, views, one value twice.
"""

from __future__ import annotations

import random

import numpy as np
from checks import Wrong

import glow
from glow.dialects.errors import GlowError
from glow.frontends.mlir import parse_text
from glow.universe import new_context

SQUARE, FLAT, ROW = "4x4", "16", "4"
SHAPES = (SQUARE, FLAT, ROW, "2x8")
SAME_SIZE = (SQUARE, FLAT, "2x8")

CALLS = 3
CLOSE = 2e-3
"""Sums in another order, through a few products."""


class StateWriter:
    """Writes one program: reads of variables, some nodes, saves."""

    def __init__(self, seed: int) -> None:
        self.choose = random.Random(seed)
        self.values: dict[str, list[str]] = {SQUARE: ["%x"], FLAT: ["%y"]}
        self.count = 0
        self.lines: list[str] = []

    def text(self) -> str:
        """The program."""
        names = [self.variable(number) for number in range(self.choose.randint(1, 5))]
        for _ in range(self.choose.randint(2, 14)):
            self.choose.choice(NODES)(self)
        saved = [each for each in names if self.choose.random() < 0.8]
        for name, shape in self.choose.sample(saved, len(saved)):
            self.lines.append(f"glow.save {self.value(shape)}, @{name}")
        shapes = self.choose.choices(list(self.values), k=2)
        results = [self.value(shape) for shape in shapes]
        types = ", ".join(f"tensor<{shape}xf32>" for shape in shapes)
        head = f"func.func @main(%x: tensor<4x4xf32>, %y: tensor<16xf32>) -> ({types})"
        end = f"func.return {', '.join(results)} : {types}"
        return "\n".join([f"{head} {{", *self.lines, end, "}"])

    def value(self, shape: str) -> str:
        """A value of a shape."""
        return self.choose.choice(self.values[shape])

    def define(self, node: str, shape: str) -> None:
        """A new value."""
        self.count += 1
        self.lines.append(f"%v{self.count} = glow.{node} : tensor<{shape}xf32>")
        self.values.setdefault(shape, []).append(f"%v{self.count}")

    def shape(self) -> str:
        """A shape that a value has."""
        return self.choose.choice(list(self.values))

    def variable(self, number: int) -> tuple[str, str]:
        """A variable, by name and shape."""
        name, shape = f"s{number}", self.choose.choice(SHAPES)
        initial = self.choose.choice(
            ("", " initial dense<0.5>", " initial dense<-1.0>")
        )
        self.define(f"variable @{name}{initial}", shape)
        return name, shape

    def unary(self) -> None:
        """An element-wise function."""
        shape = self.shape()
        node = self.choose.choice(("tanh", "neg", "sigmoid", "relu"))
        self.define(f"{node} {self.value(shape)}", shape)

    def binary(self) -> None:
        """Element-wise arithmetic."""
        shape = self.shape()
        node = self.choose.choice(("add", "sub", "mul", "max"))
        self.define(f"{node} {self.value(shape)}, {self.value(shape)}", shape)

    def product(self) -> None:
        """A product of matrices."""
        self.define(f"matmul {self.value(SQUARE)}, {self.value(SQUARE)}", SQUARE)

    def transpose(self) -> None:
        """A transposition."""
        self.define(f"transpose {self.value(SQUARE)} permutation [1, 0]", SQUARE)

    def reshape(self) -> None:
        """A view of a whole value."""
        shape = self.choose.choice([s for s in SAME_SIZE if s in self.values])
        self.define(f"reshape {self.value(shape)}", self.choose.choice(SAME_SIZE))

    def row(self) -> None:
        """A view of a row."""
        start = self.choose.randint(0, 3)
        cut = f"starts [{start}, 0] sizes [1, 4] steps [1, 1]"
        self.define(f"slice {self.value(SQUARE)} {cut}", "1x4")
        self.define(f"reshape {self.value('1x4')}", ROW)

    def broadcast(self) -> None:
        """A sum with a row."""
        if ROW in self.values:
            self.define(f"add {self.value(SQUARE)}, {self.value(ROW)}", SQUARE)


NODES = (
    *[StateWriter.binary] * 8,
    *[StateWriter.unary] * 3,
    StateWriter.product,
    StateWriter.product,
    StateWriter.transpose,
    StateWriter.reshape,
    StateWriter.row,
    StateWriter.broadcast,
)
"""What is written, as often as it stands here."""


def check_state(seed: int) -> int:
    """The number of arrays that agree after some calls; Wrong for the first that does not."""
    module = parse_text(new_context(), StateWriter(seed).text(), f"seed {seed}")
    try:
        expected = glow.compile(module, backend="interpreter")
        actual = glow.compile(module, threads=1)
    except GlowError as error:
        raise Wrong(f"seed {seed}: {error}") from error
    numbers, compared = np.random.default_rng(seed), 0
    for call in range(CALLS):
        shapes = ((4, 4), (16,))
        inputs = [numbers.uniform(-1, 1, shape).astype(np.float32) for shape in shapes]
        pairs = list(zip(actual(*inputs), expected(*inputs), strict=True))
        pairs += [(actual.variables[n], a) for n, a in expected.variables.items()]
        for one, other in pairs:
            if not np.allclose(one, other, CLOSE, CLOSE, equal_nan=True):
                raise Wrong(f"seed {seed}: another result or variable in call {call}")
            compared += 1
        for name, array in expected.variables.items():
            array[...] = np.clip(array, -2, 2)  # Products of products grow.
            actual.variables[name][...] = array
    return compared
