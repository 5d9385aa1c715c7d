"""ONNX files with a few fields or bytes changed: each computes, or fails in one line.

The files are ONNX's own tests of single operators, so every handler of the importer meets
operands, attributes, types and sizes that no exporter writes. What compiles on the CPU
computes what the interpreter does.
"""

from __future__ import annotations

import resource
import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from math import prod
from typing import TypeVar

import numpy as np
from checks import Wrong
from onnx import AttributeProto, ModelProto, NodeProto, TensorProto, helper

import glow
from glow.dialects.errors import GlowError
from glow.open_sizes import UNNAMED
from glow.sequence_model import SequenceModel
from glow.tools.conformance.cases import Case, node_cases

T = TypeVar("T")

LONGEST = 20_000
"""Bytes of a file; longer ones hold weights."""
LARGEST = 1 << 20
"""Elements of an input that are worth a call."""
MEMORY = 6 << 30
"""Bytes that a process may map beyond what it has: no file needs them."""
SECONDS = 20
"""After which a file counts as one that hangs."""

NUMBERS = (0, 1, -1, 2, 3, 7, -2, 97, 1 << 31, 1 << 38, -(1 << 63), (1 << 63) - 1)
FLOATS = (0.0, -1.0, 1e-30, 1e30, float("nan"), float("inf"), 0.5)
TYPES = tuple(sorted(set(TensorProto.DataType.values())))


class Unclear(Wrong):
    """A file whose failure is not one clear line."""


class Hangs(BaseException):
    """Raised in a compilation that takes too long; no handler of errors catches it."""


@cache
def cases() -> list[Case]:
    """The tests whose files are small."""
    return [case for case in node_cases() if case.load()[0].ByteSize() <= LONGEST]


class ModelMutator:
    """Changes fields of a model at random."""

    def __init__(self, model: ModelProto, random: np.random.Generator) -> None:
        self.model = model
        self.random = random

    def pick(self, items: list[T]) -> T | None:
        """One of some items, if there are any."""
        return items[int(self.random.integers(len(items)))] if items else None

    def mutate(self) -> None:
        """Apply one change."""
        changes: tuple[Callable[[], None], ...] = (
            self.change_attribute,
            self.change_attribute,
            self.retype_attribute,
            self.drop_attribute,
            self.change_size,
            self.change_size,
            self.change_element,
            self.change_input,
            self.drop_input,
            self.add_input,
            self.change_operator,
            self.change_opset,
            self.change_constant,
            self.copy_node,
        )
        changes[int(self.random.integers(len(changes)))]()

    def node(self) -> NodeProto | None:
        return self.pick(list(self.model.graph.node))

    def attribute(self) -> AttributeProto | None:
        return self.pick([a for n in self.model.graph.node for a in n.attribute])

    def number(self) -> int:
        return NUMBERS[int(self.random.integers(len(NUMBERS)))]

    def change_attribute(self) -> None:
        """Another number or text, one more or one less of them."""
        attribute = self.attribute()
        if attribute is None:
            return
        if attribute.ints and self.random.integers(3):
            place = int(self.random.integers(len(attribute.ints)))
            attribute.ints[place] = self.number()
        elif attribute.ints:
            attribute.ints.append(self.number())
        attribute.i = self.number()
        attribute.f = float(self.random.choice(FLOATS))
        attribute.s = attribute.s[:-1] if self.random.integers(2) else b"\xff\x00"

    def retype_attribute(self) -> None:
        """A value of another type."""
        attribute = self.attribute()
        if attribute is not None:
            attribute.type = int(self.random.integers(0, 15))  # pyright: ignore

    def drop_attribute(self) -> None:
        node = self.node()
        if node is not None and node.attribute:
            del node.attribute[int(self.random.integers(len(node.attribute)))]

    def dimension(self):
        """The shape of an input or output."""
        graph = self.model.graph
        return self.pick([v.type.tensor_type for v in (*graph.input, *graph.output)])

    def change_size(self) -> None:
        """Another size, a name for one, an axis more or less."""
        tensor = self.dimension()
        if tensor is None:
            return
        dims = tensor.shape.dim
        place = self.pick(list(dims))
        match int(self.random.integers(4)):
            case 0 if place is not None:
                place.dim_param = str(self.random.choice(["N", "M"]))
            case 1:
                dims.add().dim_value = self.number()
            case 2 if place is not None:
                del dims[-1]
            case _ if place is not None:
                place.dim_value = self.number()
            case _:
                pass

    def change_element(self) -> None:
        """Elements of another type."""
        tensor = self.dimension()
        if tensor is not None:
            tensor.elem_type = int(self.random.choice(TYPES))

    def change_input(self) -> None:
        """Another value, one that is not there, or none."""
        node = self.node()
        if node is not None and node.input:
            names = [v.name for v in self.model.graph.input] + ["", "missing"]
            names += [name for other in self.model.graph.node for name in other.output]
            place = int(self.random.integers(len(node.input)))
            node.input[place] = str(self.random.choice(names))

    def drop_input(self) -> None:
        node = self.node()
        if node is not None and node.input:
            del node.input[int(self.random.integers(len(node.input)))]

    def add_input(self) -> None:
        node = self.node()
        if node is not None and node.input:
            node.input.append(node.input[0])

    def change_operator(self) -> None:
        """The operator of another test, with these operands and attributes."""
        node, other = self.node(), self.pick(cases())
        if node is not None and other is not None and other.load()[0].graph.node:
            node.op_type = other.load()[0].graph.node[0].op_type

    def change_opset(self) -> None:
        """An older or a newer version of the operators."""
        entry = self.pick(list(self.model.opset_import))
        if entry is not None:
            entry.version = int(self.random.integers(-1, 40))

    def change_constant(self) -> None:
        """An input becomes a constant: of few numbers, or of a wrong number of bytes."""
        value = self.pick(list(self.model.graph.input))
        if value is None:
            return
        dims = [d.dim_value for d in value.type.tensor_type.shape.dim]
        few = [size if 0 < size < 5 else 1 for size in dims]
        tensor = TensorProto(name=value.name, dims=few)
        tensor.data_type = value.type.tensor_type.elem_type
        size = int(np.prod(few)) * int(self.random.choice([1, 2, 4, 8]))
        tensor.raw_data = self.random.bytes(size)
        self.model.graph.initializer.append(tensor)

    def copy_node(self) -> None:
        """A node again, under other names: the same twice, or in another order."""
        node = self.node()
        if node is None:
            return
        copy = helper.make_node(node.op_type, list(node.input), [])
        copy.CopyFrom(node)
        if self.random.integers(2):
            copy.output[:] = [f"{name}_again" for name in node.output if name]
        self.model.graph.node.insert(0, copy)


def mutated_bytes(data: bytes, random: np.random.Generator) -> bytes:
    """The file with a few bytes changed, dropped or doubled."""
    changed = bytearray(data)
    for _ in range(int(random.integers(1, 6))):
        place = int(random.integers(len(changed)))
        match int(random.integers(3)):
            case 0:
                changed[place] = int(random.integers(256))
            case 1:
                del changed[place : place + int(random.integers(1, 9))]
            case _:
                changed[place:place] = changed[place : place + 8]
    return bytes(changed)


def mutated(seed: int) -> bytes:
    """The file of a seed."""
    random = np.random.default_rng(seed)
    case = cases()[int(random.integers(len(cases())))]
    model = ModelProto()
    model.CopyFrom(case.load()[0])
    if seed % 4 == 0:
        return mutated_bytes(model.SerializeToString(), random)
    mutator = ModelMutator(model, random)
    for _ in range(int(random.integers(1, 4))):
        mutator.mutate()
    return model.SerializeToString()


@contextmanager
def limits() -> Iterator[None]:
    """Bounds the memory and the time of what runs inside; restores them."""

    def stop(*_: object) -> None:
        raise Hangs

    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    old = signal.signal(signal.SIGALRM, stop)
    with open("/proc/self/statm") as file:
        mapped = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + MEMORY, hard))
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, old)
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, hard))


def check_model_mutation(seed: int) -> int:
    """Compile and run the file of a seed; 1 if that works, 0 if it fails in one line."""
    data = mutated(seed)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"), limits():
            warnings.simplefilter("ignore")
            return compare_backends(data, seed)
    except GlowError as error:
        line = error.one_line()
        if "internal error" in line or "\n" in line or len(line) > 2200:
            raise Unclear(f"seed {seed}: {line[:300]}") from error
        return 0
    except Hangs as error:
        raise Unclear(f"seed {seed}: takes over {SECONDS} s") from error
    except Wrong:
        raise
    except BaseException as error:
        line = " ".join(str(error).split())
        raise Unclear(f"seed {seed}: {type(error).__name__}: {line[:300]}") from error


def compare_backends(data: bytes, seed: int) -> int:
    """Run a file on the CPU and on the interpreter; 1 if it could be called."""
    model = glow.compile(data, threads=1)
    if isinstance(model, SequenceModel):
        return 1
    random = np.random.default_rng(seed)
    sizes: dict[str, int] = {}
    shapes = [
        tuple(closed(size, sizes, random) for size in info.shape or ())
        for info in model.inputs
    ]
    if sum(prod(shape) for shape in shapes) > LARGEST:
        return 1
    arrays = [
        drawn(shape, info.dtype, random)
        for shape, info in zip(shapes, model.inputs, strict=True)
    ]
    wanted = glow.compile(data, backend="interpreter")(*arrays)
    results = model(*arrays)
    for result, expected in zip(listed(results), listed(wanted), strict=True):
        if not agree(result, expected):
            raise Wrong(f"seed {seed}: the CPU and the interpreter differ")
    return 1


def closed(size: int | str, sizes: dict[str, int], random: np.random.Generator) -> int:
    """A size, drawn where it is open: the same for one name."""
    if isinstance(size, int):
        return size
    drawn_size = int(random.integers(1, 5))
    return drawn_size if size == UNNAMED else sizes.setdefault(size, drawn_size)


def agree(result: np.ndarray, expected: np.ndarray) -> bool:
    """Whether results are equal but for the rounding of sums; bf16 has 8 digits."""
    digits = 8 if expected.dtype.name == "bfloat16" else 11
    tolerance = 2.0 ** (3 - digits)
    return np.allclose(
        np.asarray(result, np.float64),
        np.asarray(expected, np.float64),
        rtol=tolerance,
        atol=tolerance * max(1.0, largest(expected)),
        equal_nan=True,
    )


def listed(results: object) -> list[np.ndarray]:
    """The results of a call as a list."""
    return list(results) if isinstance(results, tuple) else [np.asarray(results)]


def largest(array: np.ndarray) -> float:
    """The largest finite magnitude."""
    numbers = np.abs(np.asarray(array, np.float64))
    return float(np.max(numbers, initial=0, where=np.isfinite(numbers)))


def drawn(shape, dtype, random: np.random.Generator) -> np.ndarray:
    """An input: small numbers, as indices and counts are."""
    dtype = np.dtype(dtype)
    if dtype.kind == "f" or dtype.kind == "V":
        return random.standard_normal(shape).astype(dtype)
    return random.integers(0, 2, shape).astype(dtype)
