"""Loops by a condition whose bodies write at a place that is data, against ONNX Runtime."""

from __future__ import annotations

import numpy as np
import onnx.parser
import onnxruntime
import pytest
from onnx import ModelProto, numpy_helper
from support.nodes.differential import assert_all_close

import glow
from glow.dialects.errors import GlowError
from glow.frontends.onnx import import_model

BODY = """
    body = b (int64 n, bool go, float[4] row, float[6, 4] kept, float[K, 4] copy,
              float[4, 4] w, int64 i)
        => (bool[1] again, float[4] next, float[6, 4] stored, float[K2, 4] copied,
            float[4, 4] w, int64 j) {
      one = Constant <value_int = 1> ()
      ones = Constant <value_ints = [1]> ()
      zeros = Constant <value_ints = [0]> ()
      size = Constant <value_ints = [6]> ()
      fone = Constant <value_float = 1.0> ()
      next = MatMul(row, w)
      f = Cast <to = 1> (i)
      f1 = Add(f, fone)
      j = Cast <to = 7> (f1)
      start = Reshape(i, ones)
      end = Reshape(j, ones)
      last = Min(size, end)
      part = Slice(kept, start, last, zeros, ones)
      shape = Shape(part)
      new = Add(part, next)
      more = Expand(new, shape)
      from = Squeeze(start)
      to = Squeeze(last)
      places0 = Range(from, to, one)
      columns = Constant <value_ints = [-1, 1]> ()
      places1 = Reshape(places0, columns)
      tiles = Constant <value_ints = [1, 4]> ()
      places = Tile(places1, tiles)
      stored = ScatterElements <axis = 0> (kept, places, more)
      copied = Identity(stored)
      top = ReduceMax <keepdims = 0> (next)
      small = Less(top, limit)
      left = Less(j, most)
      both = And(small, left)
      flag = If(both) <
        then_branch = a () => (bool t) { t = Identity(both) },
        else_branch = c () => (bool[1] e) { e = Reshape(both, ones) }
      >
      again = Reshape(flag, ones)
    }"""
"""In row `i` of `kept` comes `x w^(i + 1)` until that is too large, as Paddle exports it: the
weight is a state, `copy` is nothing at first, and the flag has two ranks."""

WEIGHT = np.array(
    [[0.9, 0.4, 0, 0], [0, 1.1, 0.3, 0], [0.2, 0, 1, 0], [0, 0, 0.5, 0.7]], np.float32
)


def loop_model() -> ModelProto:
    model = onnx.parser.parse_model(
        f"""<ir_version: 8, opset_import: ["" : 17]>
        network (float[4] x, float[6, 4] rows, float limit, int64 most)
            => (float[4] y, float[6, 4] z, float[6, 4] c, int64 n) {{
          first = Constant <value_int = 0> ()
          yes = Constant <value_ints = [1]> ()
          go0 = Cast <to = 9> (yes)
          go = Squeeze(go0)
          nothing = Constant <value_floats = [7.0]> ()
          y, z, c, v, n = Loop(, go, x, rows, nothing, weight, first) <{BODY}>
        }}"""
    )
    model.graph.initializer.append(numpy_helper.from_array(WEIGHT, "weight"))
    return model


def arguments(limit: float, most: int) -> list[np.ndarray]:
    random = np.random.default_rng(5)
    x, rows = (random.standard_normal(s).astype(np.float32) for s in (4, (6, 4)))
    return [x, rows, np.array(limit, np.float32), np.array(most)]


@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
def test_a_loop_that_writes_where_it_is(backend: str) -> None:
    """One program for any number of iterations, the weights of which are constants."""
    model = loop_model()
    peer = onnxruntime.InferenceSession(model.SerializeToString())
    ours = glow.compile(model, backend=backend, threads=2)
    for limit, most in ((1e9, 6), (1e9, 1), (-9, 4), (1.5, 6), (1e9, 3)):
        given = arguments(limit, most)
        names = [value.name for value in peer.get_inputs()]
        expected = peer.run(None, dict(zip(names, given, strict=True)))
        assert_all_close(list(ours(*given)), expected, 1e-5)
    text = str(import_model(model))
    assert text.count("scf.while") == 1
    assert "iter_args" not in text
    (head,) = (line for line in text.splitlines() if "scf.while" in line)
    assert "weight" not in head


@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
def test_a_place_outside(backend: str) -> None:
    """ONNX would cut the slice, to a size that is data."""
    model = glow.compile(loop_model(), backend=backend)
    with pytest.raises(GlowError, match=r"index .*is outside of .*axis"):
        model(*arguments(1e9, 7))
