"""Names that shapes give to sizes, for their buckets."""

import numpy as np
import pytest
from onnx import parser

from glow import compiler
from glow.dialects.errors import GlowError
from glow.tools.glow import run_glow


def unnamed():
    """A network whose sizes have no names."""
    signature = "(float[?, 3, 5, ?] x) => (float[a, b, c, d] y)"
    body = "y = Softmax<axis = 3>(x)"
    text = f'<ir_version: 9, opset_import: ["" : 18]> test {signature} {{ {body} }}'
    return parser.parse_model(text).SerializeToString()


def test_sizes_get_names_by_shapes():
    model = compiler.compile(
        unnamed(),
        backend="interpreter",
        input_shapes={"x": (2, 3, 5, "width")},
        buckets={"width": [12]},
    )
    assert model.inputs[0].shape == (2, 3, 5, "width")
    assert model(np.zeros((2, 3, 5, 7), np.float32)).shape == (2, 3, 5, 7)


@pytest.mark.parametrize(
    ("shape", "buckets", "message"),
    [
        ((2, 3, 5, "width"), None, "input_shapes must give whole numbers"),
        ((2, 3, 6, "W"), {"W": [9]}, "is declared as ?x3x5x?, not as 2x3x6xW"),
        ((3, 5, "W"), {"W": [9]}, "is declared as ?x3x5x?, not as 3x5xW"),
    ],
)
def test_wrong_names_are_refused(shape, buckets, message):
    with pytest.raises(GlowError) as caught:
        compiler.compile(unnamed(), input_shapes={"x": shape}, buckets=buckets)
    assert message in caught.value.one_line()


def test_commands_name_sizes(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.onnx").write_bytes(unnamed())
    options = ["--shape=x=1x3x5xwidth", "--shape=width=7", "--buckets=width=12"]
    run_glow(["run", "net.onnx", *options, "--backend=interpreter"])
    assert "output 'y': 1x3x5x7 float32" in capsys.readouterr().out
