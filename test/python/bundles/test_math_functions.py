"""Element-wise functions in bundles: no calls of the C library's, results of the interpreter."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.runtime.bundle_testing import ALL, written
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

import glow
from glow.bundles.build import build_bundle
from glow.bundles.bundle import BundleSettings
from glow.bundles.wasm.object_file import symbols_of
from glow.compiler import compile_module
from glow.dialects import glow as nodes
from glow.options import CompileOptions
from glow.universe import new_context

OTHERS = nodes.BitwiseOp | nodes.BitwiseUnaryOp | nodes.LogicalOp | nodes.CompareOp
UNARY = [
    node
    for node in nodes.UNARY
    if not issubclass(node, OTHERS | nodes.UnaryTestOp) and node is not nodes.NotOp
]
BINARY = [node for node in nodes.BINARY if not issubclass(node, OTHERS)]

X = np.array([-2.5, -1, -0.3, -0.0, 0.4, 1, 7.3, 1e4, 3e9], np.float32)
Y = np.array([2, -3, 0.7, 0, 1.5, -0.5, 3, 2.2, 0.7], np.float32)


NAMES = [node.name for node in (*UNARY, *BINARY)]
OF_HALVES = ["glow.sqrt", "glow.floor", "glow.sin", "glow.pow", "glow.max"]


def network(names: list[str], element: str = "f32", count: int = len(X)) -> ModuleOp:
    """Functions of two inputs, each with an output of its own."""
    type_ = f"tensor<{count}x{element}>"
    pairs = {node.name for node in BINARY}
    operands = {name: "%x, %y" if name in pairs else "%x" for name in names}
    calls = [f"{name} {operands[name]} : {type_}" for name in names]
    lines = [f"  %r{k} = {call}" for k, call in enumerate(calls)]
    results, types = [f"%r{k}" for k in range(len(calls))], [type_] * len(calls)
    text = [
        f"func.func @main(%x: {type_}, %y: {type_}) -> ({', '.join(types)}) {{",
        *lines,
        f"  func.return {', '.join(results)} : {', '.join(types)}",
        "}",
    ]
    return Parser(new_context(), "\n".join(text)).parse_module()


@pytest.fixture(scope="module")
def expected() -> list[np.ndarray]:
    model = compile_module(network(NAMES), CompileOptions(backend="interpreter"))
    return list(model.function.run([X, Y]))


TARGETS = ["riscv32", "wasm-simd", *(["cortex-m4", "neon", "riscv64"] if ALL else [])]


@pytest.mark.parametrize("target", TARGETS)
def test_functions_have_code_on_every_target(
    target: str, expected: list[np.ndarray], tmp_path: Path
) -> None:
    pytest.importorskip("wasmtime" if target.startswith("wasm") else "unicorn")
    if target.startswith("wasm"):
        pytest.importorskip("ziglang")
    options, settings = CompileOptions(target=target), BundleSettings("net")
    bundle = build_bundle({"net": network(NAMES)}, options, settings)
    loaded = glow.load(written(bundle, tmp_path / "out"), emulate=True)
    with np.errstate(all="ignore"):
        for name, found, wanted in zip(NAMES, loaded(X, Y), expected, strict=True):
            np.testing.assert_allclose(
                found, wanted, rtol=2e-6, atol=1e-6, err_msg=name
            )


@pytest.mark.parametrize("element", ["f16", "bf16"] if ALL else ["bf16"])
def test_halves_take_no_function_of_the_c_library(element: str) -> None:
    options, settings = CompileOptions(target="cortex-m3"), BundleSettings("net")
    bundle = build_bundle({"net": network(OF_HALVES, element, 5)}, options, settings)
    undefined = symbols_of(bundle.object_code).undefined
    assert {name for name in undefined if not name.startswith("__")} <= {
        "memcpy",
        "memset",
    }
