"""Networks of several backends in the cache of models: each part is an entry of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.runtime.model_cache_testing import WEIGHTS, X, own_folder, run
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

import glow
from glow import compiler
from glow.backends import backend as backends
from glow.backends.backend import CompiledFunction
from glow.backends.cpu import CpuBackend
from glow.compilation import wait_for_stores
from glow.options import CompileOptions

TEXT = """
func.func @main(%x: tensor<8x64xf32>) -> tensor<8x32xf32> {{
  %w = glow.constant dense<"0x{weights}"> : tensor<64x32xf32>
  %p = glow.matmul %x, %w : tensor<8x32xf32>
  %y = glow.softmax %p axis 1 : tensor<8x32xf32>
  func.return %y : tensor<8x32xf32>
}}
"""


def expected() -> np.ndarray:
    """What the network computes."""
    powers = np.exp(X.astype(np.float64) @ WEIGHTS)
    return powers / powers.sum(1, keepdims=True)


class ProductsBackend(CpuBackend):
    """Products alone, and keeps what it compiles."""

    name = "products"
    compiled = 0

    def version(self) -> str:
        return "1"

    def refuses(self, op: Operation) -> str | None:
        return "no product" if "softmax" in op.name else None

    def compile(self, module: ModuleOp, options: CompileOptions) -> CompiledFunction:
        type(self).compiled += 1
        return super().compile(module, options)


class ForgetfulBackend(ProductsBackend):
    """Keeps nothing."""

    name = "forgetful"
    caches_models = False


class AllBackend(ProductsBackend):
    """Takes everything."""

    name = "all"
    loaded = 0

    def refuses(self, op: Operation) -> str | None:
        return None

    def load_program(self, *arguments: object) -> CompiledFunction:
        type(self).loaded += 1
        return super().load_program(*arguments)  # pyright: ignore[reportArgumentType]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Returns the empty folder of models; the backends of this file are there."""
    monkeypatch.setattr(backends, "_loaded", {**backends._loaded})
    backends._fallback.cache_clear()
    for kind in (ProductsBackend, ForgetfulBackend, AllBackend):
        backends._loaded[kind.name] = kind()
    return own_folder(tmp_path, monkeypatch)


def save(folder: Path) -> Path:
    """The text of a network whose product and softmax are two nodes."""
    path = folder / "net.mlir"
    path.write_text(TEXT.format(weights=WEIGHTS.tobytes().hex()))
    return path


def test_all_parts_are_taken_from_the_cache(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = save(tmp_path)
    first = run(path, backend="products,cpu")
    np.testing.assert_allclose(first, expected(), rtol=1e-4, atol=1e-6)
    assert len(list(folder.iterdir())) == 3, "two parts and the whole"
    monkeypatch.setattr(compiler, "compile_model", None)
    model = glow.compile(path, backend=["products", "cpu"], threads=1)
    assert "part0_products on products:0, part1_cpu on cpu:0" in repr(model)
    np.testing.assert_array_equal(model(X), first)


@pytest.mark.parametrize("is_gone", [True, False])
def test_a_part_that_is_missing_is_compiled_alone(
    tmp_path: Path, folder: Path, is_gone: bool
) -> None:
    """One that went, or is damaged, is stored again."""
    path = save(tmp_path)
    first = run(path, backend="products,cpu")
    (product,) = folder.glob("*-0.glowmodel")
    (other,) = folder.glob("*-1.glowmodel")
    before, content = ProductsBackend.compiled, product.read_bytes()
    number = other.stat().st_ino
    product.unlink() if is_gone else product.write_bytes(content[:-1])
    np.testing.assert_array_equal(run(path, backend="products,cpu"), first)
    assert ProductsBackend.compiled == before + 1
    assert product.read_bytes() == content
    assert other.stat().st_ino == number


def test_what_cannot_be_kept_is_compiled_alone(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = save(tmp_path)
    first = run(path, backend="forgetful,cpu")
    assert len(list(folder.iterdir())) == 2, "a part and the whole"
    others = CpuBackend.compile

    def compile(self: CpuBackend, *arguments: object) -> CompiledFunction:
        assert self.name == "forgetful"
        return others(self, *arguments)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(CpuBackend, "compile", compile)
    before = ForgetfulBackend.compiled
    np.testing.assert_array_equal(run(path, backend="forgetful,cpu"), first)
    assert ForgetfulBackend.compiled == before + 1


def test_the_version_of_each_backend_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = save(tmp_path)
    run(path, backend="products,cpu")
    before = ProductsBackend.compiled
    monkeypatch.setattr(ProductsBackend, "version", lambda self: "2")
    run(path, backend="products,cpu")
    assert ProductsBackend.compiled == before + 1


def test_the_one_that_takes_all_loads_it(tmp_path: Path) -> None:
    path = save(tmp_path)
    before = AllBackend.loaded
    for _ in range(2):
        model = glow.compile(path, backend="all,cpu")
        np.testing.assert_allclose(model(X), expected(), rtol=1e-4, atol=1e-6)
        wait_for_stores()
    assert AllBackend.loaded == before + 1


WARM = """
import sys
from glow.backends import backend as backends
from glow.backends.cpu import CpuBackend

class Products(CpuBackend):
    name = "products"
    def version(self): return "1"
    def refuses(self, op): return "no product" if "softmax" in op.name else None

backends._loaded["products"] = Products()
import numpy, glow
model = glow.compile(sys.argv[1], backend="products,cpu")
model(numpy.zeros((8, 64), numpy.float32))
print(*[name for name in ("xdsl", "onnx", "llvmlite") if name in sys.modules], "ran")
"""


def test_no_compiler_is_loaded(tmp_path: Path) -> None:
    """The first process makes what all networks need."""
    command = [sys.executable, "-c", WARM, str(save(tmp_path))]
    answers = [subprocess.check_output(command, text=True) for _ in range(2)]
    assert answers[1] == "ran\n"
