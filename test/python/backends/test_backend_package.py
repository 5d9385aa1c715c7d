"""docs/add-a-backend.md builds a backend in a package of its own, which runs networks.

The files on the page, put together, are `examples/backend`. Its commands run in order, in
processes of their own that know the package by its entry point alone.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from places import TESTS
from support.onnx_models.onnxruntime_testing import onnxruntime_outputs

ROOT = TESTS.parent
EXAMPLE = ROOT / "examples" / "backend"
TOY = ROOT / "examples" / "toy"
PAGE = (ROOT / "docs" / "add-a-backend.md").read_text(encoding="utf-8")

FILE = re.compile(r"^`([\w./]+)`:\n\n```\w+\n(.*?)^```$", re.DOTALL | re.MULTILINE)
COMMANDS = re.compile(
    r"^```sh\n(.*?)^```$(?:\n\n```(?:mlir)?\n(.*?)^```$)?", re.DOTALL | re.MULTILINE
)
"""Command lines, and the text behind them: what the last one prints, in part."""

INSTALL = ("pip install .", "pip install ./toy")
MOST_LINES = 200
SUFFIXES = (".py", ".toml", ".mlir")

# One worker installs the package.
pytestmark = pytest.mark.xdist_group("backend package")


def files_of(folder: Path) -> dict[str, str]:
    """The files of a package by their path, without what pip builds of them."""
    paths = (path.relative_to(folder) for path in folder.rglob("*.*"))
    return {
        str(path): (folder / path).read_text(encoding="utf-8")
        for path in paths
        if path.suffix in SUFFIXES and path.parts[0] != "build"
    }


@dataclass(frozen=True)
class Installed:
    """The page's package where it was made, and what processes need to find it."""

    folder: Path
    environment: Mapping[str, str]

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """A command in the package's folder; what it writes, both streams as one."""
        return subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The files on the page, installed as its commands do.

    The environment has pip ask no network, and install into a folder beside the project.
    """
    base = tmp_path_factory.mktemp("backend")
    for name, text in FILE.findall(PAGE):
        path = base / "glow-npu" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    programs = Path(sys.executable).parent
    environment = {
        **os.environ,
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(base / "site"),
        "PIP_TARGET": str(base / "site"),
        "PIP_NO_INDEX": "1",
        "PIP_NO_DEPS": "1",
        "PIP_NO_BUILD_ISOLATION": "0",  # Which means that there is none.
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "GLOW_CACHE_DIR": str(base / "cache"),
        "GLOW_MODEL_CACHE_MB": "100",
    }
    installed = Installed(base / "glow-npu", environment)
    result = installed.run("pip", "install", ".", "./toy")
    assert result.returncode == 0, result.stdout
    return installed


def test_page_has_the_files_of_the_examples() -> None:
    toy = {f"toy/{name}": text for name, text in files_of(TOY).items()}
    assert dict(FILE.findall(PAGE)) == {**files_of(EXAMPLE), **toy}


@pytest.mark.parametrize("folder", [EXAMPLE, TOY])
def test_example_is_small(folder: Path) -> None:
    files = files_of(folder).items()
    sources = [text for name, text in files if name.endswith(".py")]
    assert 0 < sum(len(text.splitlines()) for text in sources) < MOST_LINES


def squeezed(text: str) -> str:
    """Lines without what indents them: blocks on the page show parts of functions."""
    return "\n".join(line.strip() for line in text.splitlines())


def test_commands_print_what_the_page_shows(package: Installed) -> None:
    blocks = COMMANDS.findall(PAGE)
    assert len(blocks) >= 6
    for lines, shown in blocks:
        output = ""
        for line in lines.splitlines():
            if line in INSTALL:
                continue  # Which the fixture has done.
            result = package.run(*shlex.split(line))
            assert result.returncode == 0, f"{line}: {result.stdout}"
            output = squeezed(result.stdout)
        for part in filter(None, shown.split("...\n")):
            assert squeezed(part) in output, f"{lines} prints\n{output}"


def test_text_of_a_level_is_for_its_backend(package: Installed) -> None:
    lower = ["--backend=npu", "--emit=lowered", "-o", "lowered.mlir"]
    assert package.run("glow", "compile", "network.mlir", *lower).returncode == 0
    result = package.run("glow", "run", "lowered.mlir")
    assert result.returncode == 1
    assert "the cpu backend has no kernel for instr.npu.dense_relu" in result.stdout
    assert "it is of backend npu" in result.stdout


PROGRAM = """
import sys
import numpy as np
import glow
from glow.compilation import wait_for_stores

image = np.load("image.npy")
outputs = {name: glow.compile("net.onnx", backend=name)(image) for name in sys.argv[1:]}
np.savez("outputs.npz", **outputs)
wait_for_stores()
print("compiled" if "glow.compiler" in sys.modules else "known")
"""


def network() -> onnx.ModelProto:
    """A convolution, a dense layer with ReLU, a product and a softmax, of random weights."""
    random = np.random.default_rng(0)
    shapes = {
        "filters": (8, 3, 3, 3),
        "weights": (512, 32),
        "bias": (32,),
        "factors": (32, 10),
    }
    weights = [
        numpy_helper.from_array(0.3 * random.standard_normal(shape, np.float32), name)
        for name, shape in shapes.items()
    ]
    nodes = [
        helper.make_node("Conv", ["x", "filters"], ["c"], pads=[1] * 4),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("Flatten", ["r"], ["f"]),
        helper.make_node("Gemm", ["f", "weights", "bias"], ["g"]),
        helper.make_node("Relu", ["g"], ["d"]),
        helper.make_node("MatMul", ["d", "factors"], ["m"]),
        helper.make_node("Softmax", ["m"], ["y"], axis=1),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 3, 8, 8])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 10])
    graph = helper.make_graph(nodes, "net", [x], [y], weights)
    opset = helper.make_opsetid("", 17)
    return helper.make_model(graph, opset_imports=[opset], ir_version=10)


def test_network_computes_what_others_do(package: Installed) -> None:
    """In one process after the CPU; a model in the cache is the backend's own."""
    model = network()
    image = np.random.default_rng(1).random((4, 3, 8, 8), np.float32)
    onnx.save(model, package.folder / "net.onnx")
    np.save(package.folder / "image.npy", image)
    program = (sys.executable, "-P", "-c", PROGRAM)

    def outputs(*backends: str) -> tuple[str, Mapping[str, np.ndarray]]:
        result = package.run(*program, *backends)
        assert result.returncode == 0, result.stdout
        return result.stdout.strip(), np.load(package.folder / "outputs.npz")

    state, found = outputs("cpu", "npu", "interpreter")
    assert state == "compiled"
    expected = onnxruntime_outputs(model, {"x": image})["y"]
    for result in found.values():
        np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-6)
    state, again = outputs("npu")
    assert state == "known"
    np.testing.assert_array_equal(again["npu"], found["npu"])
    kernels = package.folder.parent / "site" / "glow_npu" / "kernels.py"
    text = kernels.read_text()
    kernels.write_text(text.replace("constant(0.0, f32)", "constant(1e9, f32)"))
    try:
        state, changed = outputs("npu")
    finally:
        kernels.write_text(text)
    assert state == "compiled"
    assert (changed["npu"] != found["npu"]).any()
