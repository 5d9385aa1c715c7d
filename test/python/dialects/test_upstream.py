"""Upstream MLIR accepts what we print, and its lowering computes what ours does."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from functools import partial
from io import StringIO

import numpy as np
import pytest
from places import TESTS
from support.kernels.kernel_examples import KERNELS
from support.kernels.kernel_testing import TARGET, Array, guarded
from support.programs.control_flow_programs import programs
from support.programs.loops_testing import sample
from support.programs.upstream import (
    ABSENT,
    SEPARATOR,
    find_mlir_opt,
    lower_upstream,
    mlir_opt_each,
    mlir_translate,
)
from xdsl.dialects.builtin import DenseArrayBase, MemRefType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute
from xdsl.parser import Parser
from xdsl.printer import Printer

from benchmarks.networks import TINY_NETWORKS, TINY_WIDER_NETWORKS, quantized
from glow.compiler import load, lower_to
from glow.lowering.llvm_text.emit import emit_module
from glow.lowering.loops_to_llvm.convert_loops_to_llvm import lower_module
from glow.runtime.linking.library import Library
from glow.runtime.native_code import compile_object
from glow.runtime.testing import argument_type
from glow.universe import new_context

pytestmark = pytest.mark.skipif(find_mlir_opt() is None, reason=ABSENT)

REORDERED = {"softmax", "reduce short rows"}
"""Sums along a vector whose length is no power of two: upstream adds in another order."""

FOLDERS = ("dialects", "graph", "instr", "loops_to_llvm", "lowering", "quantization")
"""Of lit tests."""

QUANTIZED = {"mobilenet_v2": "u8s8", "bert": "dynamic"}
"""Small networks to how ONNX Runtime quantizes them."""
SMALL_NETWORKS = {
    **TINY_NETWORKS,
    **TINY_WIDER_NETWORKS,
    **{
        f"{name}_{scheme}": partial(quantized.build, TINY_NETWORKS[name], scheme)
        for name, scheme in QUANTIZED.items()
    },
}

ROUNDING = 1e-5
"""What that may change, relative to a value; a tenth of it where values are near 0."""


def generic(module: ModuleOp) -> str:
    """The text of a module in the generic form."""
    text = StringIO()
    Printer(text, print_generic_format=True).print_op(module)
    return text.getvalue()


def assert_one_module(texts: Sequence[str]) -> None:
    """Upstream accepts each of the texts, and prints the same for all."""
    printed = mlir_opt_each([f"{text}\n" for text in texts])
    assert len(printed) == len(texts)
    assert len({text.strip() for text in printed}) == 1


def kernel_module(name: str) -> tuple[ModuleOp, int]:
    """A module with a kernel as a public function, and its number of work items."""
    kernel = KERNELS[name]()
    del kernel.function.properties["sym_visibility"]
    return ModuleOp([kernel.function]), kernel.work_items


def test_kernels_are_accepted() -> None:
    """In both forms, which upstream prints alike."""
    modules = [kernel_module(name)[0] for name in KERNELS]
    custom, other = (
        mlir_opt_each([f"{form(module)}\n" for module in modules])
        for form in (str, generic)
    )
    assert dict(zip(KERNELS, custom, strict=True)) == dict(
        zip(KERNELS, other, strict=True)
    )


@pytest.mark.parametrize("name", KERNELS)
def test_lowerings_agree(name: str) -> None:
    module, work_items = kernel_module(name)
    function = function_of(module, next(iter(module.ops)).sym_name.data)
    memrefs = [t for t in function.function_type.inputs if isinstance(t, MemRefType)]
    bound = ROUNDING if name in REORDERED else 0
    compare(module, function, arrays_of(memrefs), (0, work_items), bound)


def programs_of(folder: str) -> Iterator[tuple[str, list[str]]]:
    """The lit tests of a folder whose programs are correct, in the generic form."""
    for path in sorted((TESTS / folder).rglob("*.mlir")):
        text = path.read_text()
        if "--verify-diagnostics" in text or "func.func" not in text:
            continue
        parts = text.split(SEPARATOR)
        modules = [Parser(new_context(), part).parse_module() for part in parts]
        yield path.name, [f"{generic(module)}\n" for module in modules]


@pytest.mark.parametrize("folder", FOLDERS)
def test_programs_of_the_lit_tests_are_accepted(folder: str) -> None:
    """All at once; one by one where one is refused, to name it."""
    programs = dict(programs_of(folder))
    texts = [text for parts in programs.values() for text in parts]
    if not is_accepted(texts):
        refused = [name for name, parts in programs.items() if not is_accepted(parts)]
        assert not refused, f"mlir-opt refuses {', '.join(refused)}"


def is_accepted(texts: Sequence[str]) -> bool:
    """Whether upstream reads texts; dialects of our own are unregistered ones."""
    try:
        mlir_opt_each(texts, "--allow-unregistered-dialect")
    except AssertionError:
        return False
    return True


@pytest.mark.parametrize("name", SMALL_NETWORKS)
def test_network_is_accepted_at_every_level(name: str) -> None:
    assert_levels_accepted(load(SMALL_NETWORKS[name]()))


@pytest.mark.parametrize("name", programs())
def test_control_flow_is_accepted_at_every_level(name: str) -> None:
    assert_levels_accepted(Parser(new_context(), programs()[name][0]).parse_module())


def assert_levels_accepted(module: ModuleOp) -> None:
    """Upstream reads all levels, and prints both forms of the last one alike."""
    texts: list[str] = []
    for stage in ("graph", "lowered", "instr", "loops"):
        lower_to(module, stage)
        texts.append(f"{generic(module)}\n")
    # Of the loops level it knows every operation: none is unregistered.
    assert_one_module([str(module), texts.pop()])
    mlir_opt_each(texts, "--allow-unregistered-dialect")


@pytest.mark.parametrize("name", sorted(TINY_NETWORKS))
def test_lowerings_of_a_network_agree(name: str) -> None:
    """One thread runs `main` on random weights; the barrier of one thread does nothing."""
    module = load(TINY_NETWORKS[name]())
    lower_to(module, "loops")
    main = function_of(module, "main")
    segments = list(main.function_type.inputs)[:3]
    arrays = [words_of(type_) for type_ in segments]
    places = main.attributes["glow.arguments"]
    assert isinstance(places, DenseArrayBase)
    arrays[1].view(np.int64)[: len(places)] = places.get_values()
    compare(module, main, arrays, (0, 1, 0), ROUNDING if name == "bert" else 0)


def function_of(module: ModuleOp, name: str) -> FuncOp:
    """The function of that name."""
    (function,) = (
        op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data == name
    )
    return function


def arrays_of(types: Sequence[MemRefType]) -> list[Array]:
    """Numbers for buffers of those types, in order; integers may serve as indices."""
    arrays: list[Array] = []
    for seed, type_ in enumerate(types):
        shape = type_.get_shape()
        array = sample(str(type_.element_type), int(np.prod(shape)), seed)
        small = array % 3 if np.issubdtype(array.dtype, np.integer) else array
        arrays.append(small.reshape(shape))
    return arrays


def words_of(type_: Attribute) -> Array:
    """A segment full of numbers: f32 where it is read as such."""
    assert isinstance(type_, MemRefType)
    size = -(-type_.get_shape()[0] // 64) * 16
    return np.abs(sample("f32", size)) * np.float32(0.01)


def compare(
    module: ModuleOp,
    function: FuncOp,
    arrays: Sequence[Array],
    integers: Sequence[int],
    bound: float,
) -> None:
    """Calls the function in three translations, after which all buffers must agree.

    Ours, upstream's of our llvm dialect, and upstream's of the loops level.
    """
    lowered = lower_module(module, TARGET)
    texts = (
        emit_module(lowered.ops, TARGET),
        mlir_translate(str(lowered)),
        lower_upstream(str(module)),
    )
    name = function.sym_name.data
    ours, emitted, theirs = (call(text, name, arrays, integers) for text in texts)
    assert any(map(differ, ours, arrays)), "the function wrote nothing"
    assert not any(map(differ, ours, emitted))
    for found, expected in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(found, expected, rtol=bound, atol=bound / 10)


def differ(left: Array, right: Array) -> bool:
    """Whether two arrays hold different bits."""
    return left.tobytes() != right.tobytes()


BARRIER = "define void @glow_barrier(ptr %barrier, i64 %threads) { ret void }"


def call(
    text: str, name: str, arrays: Sequence[Array], integers: Sequence[int]
) -> list[Array]:
    """Copies of the buffers after a call."""
    objects = [compile_object(text, TARGET), compile_object(BARRIER, TARGET)]
    library = Library(objects, [name])
    buffers = [guarded(array) for array in arrays]
    arguments = [*buffers, *integers]
    function = ctypes.CFUNCTYPE(None, *map(argument_type, arguments))
    function(library.address(name))(
        *(a if isinstance(a, int) else a.ctypes.data for a in arguments)
    )
    return buffers
