"""ONNX's operators in the torch dialect go through the importer of ONNX models."""

import numpy as np
import pytest

import glow

OPEN = """
func.func @main(%x: !torch.vtensor<[?,3],f32>, %y: !torch.vtensor<[3],f32>) -> !torch.vtensor<[?,3],f32> attributes {torch.onnx_meta.opset_version = 17 : si64} {
  %none = torch.constant.none
  %0 = torch.operator "onnx.Clip"(%x, %none, %none) : (!torch.vtensor<[?,3],f32>, !torch.none, !torch.none) -> !torch.vtensor<[?,3],f32>
  %1 = torch.operator "onnx.Add"(%0, %y) : (!torch.vtensor<[?,3],f32>, !torch.vtensor<[3],f32>) -> !torch.vtensor<[?,3],f32>
  return %1 : !torch.vtensor<[?,3],f32>
}
"""  # noqa: E501

UNKNOWN = """
func.func @main(%x: !torch.vtensor<[3],f32>) -> !torch.vtensor<[3],f32> attributes {torch.onnx_meta.opset_version = 17 : si64} {
  %0 = torch.operator "onnx.Frobnicate"(%x) : (!torch.vtensor<[3],f32>) -> !torch.vtensor<[3],f32>
  %1 = torch.operator "onnx.Defrobnicate"(%0) : (!torch.vtensor<[3],f32>) -> !torch.vtensor<[3],f32>
  return %1 : !torch.vtensor<[3],f32>
}
"""  # noqa: E501

BRANCHES = """
func.func @main(%c: !torch.vtensor<[],i1>, %x: !torch.vtensor<[3],f32>) -> !torch.vtensor<[3],f32> attributes {torch.onnx_meta.opset_version = 17 : si64} {
  %0 = torch.operator "onnx.If"(%c) : (!torch.vtensor<[],i1>) -> !torch.vtensor<[3],f32> {
    %1 = torch.operator "onnx.Neg"(%x) : (!torch.vtensor<[3],f32>) -> !torch.vtensor<[3],f32>
    torch.operator_terminator %1 : !torch.vtensor<[3],f32>
  }, {
    %1 = torch.operator "onnx.Abs"(%x) : (!torch.vtensor<[3],f32>) -> !torch.vtensor<[3],f32>
    torch.operator_terminator %1 : !torch.vtensor<[3],f32>
  }
  return %0 : !torch.vtensor<[3],f32>
}
"""  # noqa: E501


def written(folder, text):
    path = folder / "program.mlir"
    path.write_text(text)
    return path


def test_open_sizes_are_given(tmp_path):
    path = written(tmp_path, OPEN)
    x, y = np.arange(6, dtype=np.float32).reshape(2, 3), np.ones(3, np.float32)
    model = glow.compile(path, input_shapes={"x": [2, 3]})
    np.testing.assert_array_equal(model(x, y), x + y)


def test_all_unknown_operators_are_told_with_their_places(tmp_path):
    path = written(tmp_path, UNKNOWN)
    with pytest.raises(glow.GlowError) as raised:
        glow.compile(path)
    message = str(raised.value)
    assert "2 operators are not supported" in message
    for name, line in (("Frobnicate", 3), ("Defrobnicate", 4)):
        assert f"'{name}' at node" in message
        assert f"program.mlir:{line}:" in message


@pytest.mark.parametrize("flag", [True, False])
def test_branches_read_values_from_around_them(flag, tmp_path):
    path = written(tmp_path, BRANCHES)
    x = np.array([1, -2, 3], np.float32)
    found = glow.compile(path, backend="interpreter")(np.array(flag), x)
    np.testing.assert_array_equal(found, -x if flag else np.abs(x))
