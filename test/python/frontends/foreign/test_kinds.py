"""Files are what they hold, not what they are called."""

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

import glow
from glow.frontends.kinds import ONNX, TEXT, is_text, kind_of
from glow.tools.glow_opt import run_glow_opt
from glow.tools.programs import check_program

PROGRAM = """\
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = glow.relu %x : tensor<2xf32>
  func.return %y : tensor<2xf32>
}
"""


def model_bytes() -> bytes:
    node = helper.make_node("Relu", ["x"], ["y"])
    values = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [2]) for n in "xy"]
    graph = helper.make_graph([node], "graph", values[:1], values[1:])
    opset = helper.make_opsetid("", 20)
    return helper.make_model(graph, opset_imports=[opset]).SerializeToString()


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("a.txt", b"// a comment\n\nmodule {\n", TEXT),
        ("a.stablehlo", b"#map = affine_map<() -> ()>", TEXT),
        ("a", b'"builtin.module"() ({', TEXT),
        ("a.pb", b"func.func @main() {", TEXT),
        ("a.onnx", b"module @jit_f attributes {", TEXT),
        ("a.mlir", b"\x08\x0a\x12\x04", ONNX),
        ("a.mlir", b"module { \x00 }", TEXT),
        ("a.mlir", b"", TEXT),
        ("a.onnx", b"", ONNX),
        ("a.onnx", b"no model at all", ONNX),
        ("a.onnx", b":\x12\x04\x00", ONNX),
        ("a.txt", b"no program at all", None),
        ("a.npy", b"\x93NUMPY\x01", None),
    ],
)
def test_kinds(name: str, content: bytes, kind: str | None, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    assert kind_of(tmp_path / name) == kind
    assert is_text(tmp_path / name) == (kind == TEXT)


def test_what_is_no_file_goes_by_its_suffix(tmp_path: Path) -> None:
    assert kind_of(tmp_path / "absent.onnx") == ONNX
    assert kind_of(str(tmp_path / "absent.mlir")) == TEXT
    assert kind_of(tmp_path) is None
    assert kind_of("null\0.mlir") == TEXT
    assert not is_text(b"module {}")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        *((name, PROGRAM.encode()) for name in ("net.txt", "net.onnx", "net")),
        *((name, model_bytes()) for name in ("model.pb", "model.mlir")),
    ],
)
def test_files_of_any_name_are_compiled(
    name: str, content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    check_program(path)
    run_glow_opt([str(path)])
    assert "glow.relu %x" in capsys.readouterr().out
    model = glow.compile(path, backend="interpreter")
    np.testing.assert_array_equal(model(np.float32([-1, 1])), [0, 1])
