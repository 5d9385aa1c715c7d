"""Random models of If, Loop and Scan inside each other compute what ONNX Runtime computes.

Every value is a matrix of one shape, so that any operator may read any value that it sees: of
its own graph, and of those around it. Conditions are data; loops end by a trip count that is
known or an input, by a condition, or by both; some stack their results.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import onnx.parser
import onnxruntime
from checks import Wrong
from onnx import ModelProto

import glow
from glow.dialects.errors import GlowError

UNARY = ("Relu", "Neg", "Tanh", "Sigmoid", "Abs")
BINARY = ("Add", "Sub", "Mul", "Max")
LIMITS = (0.2, 0.9, 1.5)
DEEPEST = 3
MATRIX = "float[3, 4]"
CLOSE = 2e-3
"""Of the largest element; products of products lose some digits."""


class ControlWriter:
    """Writes the lines of a random model."""

    def __init__(self, seed: int) -> None:
        self.choose = random.Random(seed)
        self.count = 0
        self.depth = 0

    def model(self) -> ModelProto:
        """A model of two matrices and a trip count."""
        values = ["x", "y"]
        lines = ["axis = Constant <value_ints = [0]> ()", *self.body(values, 10)]
        one, other = values[-2:]
        lines += [f"r = Identity({one})", f"s = Identity({other})"]
        return onnx.parser.parse_model(
            '<ir_version: 8, opset_import: ["" : 17]> '
            f"network ({MATRIX} x, {MATRIX} y, int64 n) => ({MATRIX} r, {MATRIX} s) "
            f"{{ {' '.join(lines)} }}"
        )

    def name(self) -> str:
        """A new name."""
        self.count += 1
        return f"v{self.count}"

    def recent(self, values: Sequence[str]) -> str:
        """One of the last values."""
        return self.choose.choice(values[-5:])

    def body(self, values: list[str], steps: int) -> list[str]:
        """Lines of some operators, whose results join the values."""
        makers = [self.unary, self.binary, self.binary, self.product]
        if self.depth < DEEPEST:
            makers += [self.branch, self.loop, self.scan]
        self.depth += 1
        lines = [
            line for _ in range(steps) for line in self.choose.choice(makers)(values)
        ]
        self.depth -= 1
        return lines

    def unary(self, values: list[str]) -> list[str]:
        """One operator on one value."""
        operand = self.recent(values)
        values.append(self.name())
        return [f"{values[-1]} = {self.choose.choice(UNARY)}({operand})"]

    def binary(self, values: list[str]) -> list[str]:
        """One operator on two values."""
        one, other = self.recent(values), self.choose.choice(values)
        values.append(self.name())
        return [f"{values[-1]} = {self.choose.choice(BINARY)}({one}, {other})"]

    def product(self, values: list[str]) -> list[str]:
        """`tanh(x @ y^T @ z)`."""
        x, y, z = (self.choose.choice(values) for _ in range(3))
        turned, square, long, result = (self.name() for _ in range(4))
        values.append(result)
        return [
            f"{turned} = Transpose <perm = [1, 0]> ({y})",
            f"{square} = MatMul({x}, {turned})",
            f"{long} = MatMul({square}, {z})",
            f"{result} = Tanh({long})",
        ]

    def condition(self, values: Sequence[str], lines: list[str]) -> str:
        """Whether the largest element of a value is below a limit."""
        top, limit, flag = (self.name() for _ in range(3))
        lines += [
            f"{top} = ReduceMax <keepdims = 0> ({self.choose.choice(values)})",
            f"{limit} = Constant <value_float = {self.choose.choice(LIMITS)}> ()",
            f"{flag} = Less({top}, {limit})",
        ]
        return flag

    def branch(self, values: list[str]) -> list[str]:
        """Two results of one body or the other."""
        lines: list[str] = []
        flag = self.condition(values, lines)
        parts: list[str] = []
        for which in ("then_branch", "else_branch"):
            inner = list(values)
            body = self.body(inner, self.choose.randint(1, 4))
            one, other = self.name(), self.name()
            body += [
                f"{one} = Identity({self.choose.choice(inner)})",
                f"{other} = Neg({self.recent(inner)})",
            ]
            parts.append(
                f"{which} = {self.name()} () => ({MATRIX} {one}, {MATRIX} {other}) "
                f"{{ {' '.join(body)} }}"
            )
        values += [self.name(), self.name()]
        return [*lines, f"{values[-2]}, {values[-1]} = If({flag}) <{', '.join(parts)}>"]

    def loop(self, values: list[str]) -> list[str]:
        """Two states, and a sum of stacked results where the number is known."""
        kind = self.choose.choice(("known", "given", "condition", "both"))
        lines: list[str] = []
        trips = {"known": self.name(), "both": self.name(), "given": "n"}.get(kind, "")
        if kind in ("known", "both"):
            number = self.choose.randrange(4)
            lines.append(f"{trips} = Constant <value_int = {number}> ()")
        flag = self.condition(values, lines) if kind in ("condition", "both") else ""
        i, go, again, a, b, c, d, stacked = (self.name() for _ in range(8))
        inner = [*values, a, b]
        body = self.body(inner, self.choose.randint(1, 4))
        body += self.ending(kind, inner, (i, go, again))
        body += [
            f"{c} = Identity({self.choose.choice(inner)})",
            f"{d} = Identity({self.recent(inner)})",
            f"{stacked} = Neg({self.choose.choice(inner)})",
        ]
        first, second = self.choose.choice(values), self.choose.choice(values)
        results = [self.name(), self.name()]
        values += results
        outputs = f"bool {again}, {MATRIX} {c}, {MATRIX} {d}"
        if is_stacking := kind == "known" and self.choose.random() < 0.6:
            results.append(self.name())
            outputs += f", {MATRIX} {stacked}"
        lines.append(
            f"{', '.join(results)} = Loop({trips}, {flag}, {first}, {second}) <body = "
            f"{self.name()} (int64 {i}, bool {go}, {MATRIX} {a}, {MATRIX} {b}) "
            f"=> ({outputs}) {{ {' '.join(body)} }}>"
        )
        if is_stacking:
            values.append(self.name())
            lines.append(
                f"{values[-1]} = ReduceSum <keepdims = 0> ({results[2]}, axis)"
            )
        return lines

    def ending(
        self, kind: str, values: Sequence[str], names: tuple[str, str, str]
    ) -> list[str]:
        """Lines that decide whether a loop goes on, at most so often without a count."""
        i, go, again = names
        if kind in ("known", "given"):
            return [f"{again} = Identity({go})"]
        lines: list[str] = []
        flag = self.condition(values, lines)
        if kind == "both":
            return [*lines, f"{again} = And({flag}, {go})"]
        three, few = self.name(), self.name()
        return [
            *lines,
            f"{three} = Constant <value_int = 3> ()",
            f"{few} = Less({i}, {three})",
            f"{again} = And({flag}, {few})",
        ]

    def scan(self, values: list[str]) -> list[str]:
        """A state of rows, and rows in one direction or the other."""
        state, row, both, whole = (self.name() for _ in range(4))
        inner = [*values, whole]
        body = [
            f"{both} = Add({state}, {row})",
            f"{whole} = Add({both}, {self.choose.choice(values)})",
            *self.body(inner, self.choose.randint(1, 3)),
        ]
        mean, following, output = (self.name() for _ in range(3))
        body += [
            f"{mean} = ReduceMean <axes = [0], keepdims = 0> ({inner[-1]})",
            f"{following} = Tanh({mean})",
            f"{output} = Neg({mean})",
        ]
        begin, last, rows, result = (self.name() for _ in range(4))
        source = self.choose.choice(values)
        directions = [self.choose.randint(0, 1) for _ in range(2)]
        lines = [
            f"{begin} = ReduceMax <axes = [0], keepdims = 0> ({self.recent(values)})",
            f"{last}, {rows} = Scan <num_scan_inputs = 1, "
            f"scan_input_directions = [{directions[0]}], "
            f"scan_output_directions = [{directions[1]}], body = {self.name()} "
            f"(float[4] {state}, float[4] {row}) => (float[4] {following}, "
            f"float[4] {output}) {{ {' '.join(body)} }}> ({begin}, {source})",
            f"{result} = Add({last}, {rows})",
        ]
        values.append(result)
        return lines


def check_control_model(seed: int) -> int:
    """The number of results that agree; Wrong for the first that does not."""
    model = ControlWriter(seed).model()
    numbers = np.random.default_rng(seed)
    call = {name: numbers.standard_normal((3, 4)).astype(np.float32) for name in "xy"}
    inputs = call | {"n": np.array(numbers.integers(-1, 4))}
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    peer = onnxruntime.InferenceSession(model.SerializeToString(), options)
    expected = peer.run(None, inputs)
    compared = 0
    for backend in ("interpreter", "cpu"):
        try:
            compiled = glow.compile(model, backend=backend, threads=2)
            found = compiled.run(inputs)
        except GlowError as error:
            raise Wrong(f"seed {seed}: {backend}: {error}") from error
        for one, other in zip(found.values(), expected, strict=True):
            bound = CLOSE * max(1.0, float(np.abs(other).max()))
            if one.shape != other.shape or not np.allclose(one, other, 0, bound):
                raise Wrong(f"seed {seed}: {backend}: another result")
            compared += 1
    return compared
