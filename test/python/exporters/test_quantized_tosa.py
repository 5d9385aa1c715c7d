"""Quantized nodes as TOSA: what its integers compute, and what comes back of them."""

from io import StringIO

import numpy as np
import pytest
from support.programs.round_trips import MOST_NODES, node_count
from support.programs.upstream import ABSENT, find_mlir_opt, mlir_opt_each
from xdsl.dialects.builtin import StringAttr

from glow.compiler import lower_to
from glow.exporters.programs import export_program
from glow.exporters.programs.text import print_program
from glow.exporters.tosa import TOSA
from glow.exporters.tosa.multipliers import Multipliers
from glow.frontends.mlir import parse_text
from glow.frontends.tosa import rescale
from glow.frontends.tosa.convert_tosa_to_glow import ConvertTosaToGlowPass
from glow.interpreter import run
from glow.interpreter.integer_arithmetic import scaled
from glow.universe import new_context

CONTEXT = new_context()

PAIRS = tuple(
    array.reshape(1, 4, 16, 1024).astype(np.int8)
    for array in np.meshgrid(np.arange(-128, 128), np.arange(-128, 128))
)
"""All pairs of bytes."""

BYTES = np.arange(-128, 128, dtype=np.int8).reshape(1, 4, 8, 8)

SCALES = {
    "usual": (0.0172, 0.0339, 0.0471),
    "small": (3e-6, 2e-6, 0.0471),
    "more than 1": (0.61, 0.53, 0.017),
    "large": (3000.0, 5000.0, 0.01),
    "halves": (0.5, 0.25, 1.0),
    "fifths": (0.2, 0.1, 1.0),
}
"""Of two operands and a result; the last are halfway between two results often."""

NEAR = ("usual", "small", "more than 1")
"""Those that `rescale` has a multiplier for."""

POINTS = ((0, 0, 0), (-3, 5, 7), (-128, 127, -128), (127, -128, 127))


def bytes_of(scale, point):
    return f"!quant.uniform<i8:f32, {scale:e}:{point}>"


def program(body, inputs, shape, kinds, result):
    """A function of bytes, which are quantized elements inside."""
    size = "x".join(map(str, shape))
    args = ", ".join(f"%x{at}: tensor<{size}xi8>" for at in range(inputs))
    casts = "\n".join(
        f"%{at} = quant.scast %x{at} : tensor<{size}xi8> to tensor<{size}x{kinds[at]}>"
        for at in range(inputs)
    )
    out = "x".join(map(str, result))
    return parse_text(
        CONTEXT,
        f"""func.func @main({args}) -> tensor<{out}xi8> {{
          {casts}
          {body}
          %z = quant.scast %y : tensor<{out}x{kinds[-1]}> to tensor<{out}xi8>
          func.return %z : tensor<{out}xi8>
        }}""",
        "quantized.mlir",
    )


def elementwise(name, inputs, more=""):
    def make(scales, points):
        kinds = [bytes_of(*one) for one in zip(scales, points, strict=True)]
        kinds = [*kinds[:inputs], kinds[-1]]
        shape = (BYTES if inputs == 1 else PAIRS[0]).shape
        operands = ", ".join(f"%{at}" for at in range(inputs))
        size = "x".join(map(str, shape))
        body = f"%y = glow.{name} {operands} {more}: tensor<{size}x{kinds[-1]}>"
        arrays = [BYTES] if inputs == 1 else list(PAIRS)
        return program(body, inputs, shape, kinds, shape), arrays

    return make


def numbers(*shape):
    random = np.random.default_rng(sum(shape))
    return random.integers(-128, 128, shape, np.int8)


def dense(array):
    return f"dense<{array.tolist()}>"


def convolution(group, more=""):
    """4 channels to 8, with a scale for each, and a bias."""

    def make(scales, points):
        weights = numbers(8, 4 // group, 3, 3)
        channels = np.random.default_rng(1).uniform(0.3, 1.7, 8) * scales[1] / 60
        listed = ", ".join(f"{one:e}" for one in channels)
        kind = f"!quant.uniform<i8:f32:0, {{{listed}}}>"
        bias = f"!quant.uniform<i32:f32:0, {{{listed}}}>"
        kinds = [bytes_of(scales[0], points[0]), bytes_of(scales[2], points[2])]
        body = f"""
          %w = glow.constant {dense(weights)} : tensor<{"x".join(map(str, weights.shape))}xi8>
            as tensor<{"x".join(map(str, weights.shape))}x{kind}>
          %b = glow.constant {dense(np.arange(-4, 4) * 99)} : tensor<8xi32>
            as tensor<8x{bias}>
          %y = glow.conv2d %0, %w, %b pads [1, 1, 1, 1] group {group} {more}
            : tensor<2x8x12x12x{kinds[1]}>"""
        arrays = [numbers(2, 4, 12, 12)]
        return program(body, 1, (2, 4, 12, 12), kinds, (2, 8, 12, 12)), arrays

    return make


def fully_connected(scales, points):
    weights = numbers(20, 30)
    listed = ", ".join(f"{one:e}" for one in np.linspace(0.3, 1.7, 30) * scales[1] / 60)
    kind = f"!quant.uniform<i8:f32:1, {{{listed}}}>"
    kinds = [bytes_of(scales[0], points[0]), bytes_of(scales[2], points[2])]
    body = f"""
      %w = glow.constant {dense(weights)} : tensor<20x30xi8> as tensor<20x30x{kind}>
      %y = glow.fully_connected %0, %w : tensor<40x30x{kinds[1]}>"""
    return program(body, 1, (40, 20), kinds, (40, 30)), [numbers(40, 20)]


def matmul(scales, points):
    kinds = [
        bytes_of(scale, point)
        for scale, point in zip(
            (scales[0], scales[1] / 60, scales[2]), points, strict=True
        )
    ]
    body = f"%y = glow.matmul %0, %1 transpose_rhs : tensor<3x10x10x{kinds[2]}>"
    arrays = [numbers(3, 10, 10), numbers(3, 10, 10)[::-1].copy()]
    return program(body, 2, (3, 10, 10), kinds, (3, 10, 10)), arrays


def moved(name, result, more):
    def make(scales, points):
        kind = bytes_of(scales[0], points[0])
        size = "x".join(map(str, result))
        body = f"%y = glow.{name} %0 {more} : tensor<{size}x{kind}>"
        return program(body, 1, BYTES.shape, [kind, kind], result), [BYTES]

    return make


def mean(name, result, more):
    def make(scales, points):
        kinds = [bytes_of(*one) for one in zip(scales, points, strict=True)][::2]
        size = "x".join(map(str, result))
        body = f"%y = glow.{name} %0 {more} : tensor<{size}x{kinds[1]}>"
        random = numbers(1, 4, 8, 8)
        return program(body, 1, BYTES.shape, kinds, result), [random]

    return make


def lookup_table(scales, points):
    kinds = [bytes_of(*one) for one in zip(scales, points, strict=True)][::2]
    table = numbers(256)
    body = f"""
      %t = glow.constant {dense(table)} : tensor<256xi8>
      %y = glow.lookup_table %0, %t : tensor<1x4x8x8x{kinds[1]}>"""
    return program(body, 1, BYTES.shape, kinds, BYTES.shape), [BYTES]


NODES = {
    "add": elementwise("add", 2),
    "sub": elementwise("sub", 2),
    "mul": elementwise("mul", 2),
    "max": elementwise("max", 2),
    "min": elementwise("min", 2),
    "relu": elementwise("relu", 1),
    "clip": elementwise("clip", 1, "low -0.3 high 0.9 "),
    "rescale": elementwise("rescale", 1),
    "conv2d": convolution(1),
    "conv2d depthwise": convolution(4),
    "conv2d with relu": convolution(1, 'activation "relu"'),
    "fully_connected": fully_connected,
    "matmul": matmul,
    "avg_pool2d": mean("avg_pool2d", (1, 4, 1, 1), "kernel [8, 8]"),
    "reduce_mean": mean("reduce_mean", (1, 4, 1, 8), "axes [2] keepdims"),
    "max_pool2d": moved("max_pool2d", (1, 4, 4, 4), "kernel [2, 2] strides [2, 2]"),
    "reshape": moved("reshape", (4, 64), ""),
    "transpose": moved("transpose", (1, 8, 8, 4), "permutation [0, 2, 3, 1]"),
    "slice": moved(
        "slice",
        (1, 2, 8, 8),
        "starts [0, 1, 0, 0] sizes [1, 2, 8, 8] steps [1, 1, 1, 1]",
    ),
    "pad": moved("pad", (1, 4, 10, 8), "pads [0, 0, 1, 0, 0, 0, 1, 0] value 0.11"),
    "tile": moved("tile", (1, 4, 8, 16), "repeats [1, 1, 1, 2]"),
    "lookup_table": lookup_table,
}

MOVED = {
    "max_pool2d", "reshape", "transpose", "slice", "pad", "tile", "lookup_table",
}  # fmt: skip


def text_of(module, numerics):
    output = StringIO()
    print_program(export_program(module, TOSA, "resource", numerics), output)
    return output.getvalue()


def converted(text):
    module = parse_text(CONTEXT, text, "program.mlir")
    ConvertTosaToGlowPass().apply(CONTEXT, module)
    module.verify()
    return module


@pytest.mark.parametrize("node", NODES)
def test_bytes(node, monkeypatch):
    """Integers as TOSA says compute what the node does, and come back as the node."""
    for name, scales in SCALES.items():
        for points in POINTS if name == "usual" else POINTS[1:2]:
            module, arrays = NODES[node](scales, points)
            (expected,) = run(module, arrays)
            text = text_of(module, "exact")
            back = converted(text)
            (found,) = run(back, arrays)
            np.testing.assert_array_equal(found, expected, f"{name} {points}")
            if name in NEAR:
                count = node_count(lower_to(module, "graph"))
                assert node_count(lower_to(back, "graph")) <= MOST_NODES * count, name
            with monkeypatch.context() as patch:
                patch.setattr(rescale, "FORMS", ())
                (exactly,) = run(converted(text), arrays)
            np.testing.assert_array_equal(exactly, expected, f"{name} {points}")


@pytest.mark.parametrize("node", NODES)
def test_fast(node):
    """Without corrections at most one of a hundred numbers is off, by one step."""
    for name, scales in SCALES.items():
        module, arrays = NODES[node](scales, POINTS[1])
        (expected,) = run(module, arrays)
        text = text_of(module, "fast")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(rescale, "FORMS", ())
            (found,) = run(converted(text), arrays)
        off = np.abs(found.astype(np.int64) - expected)
        assert off.max() <= 1, name
        assert np.mean(off) <= 0.01, name


def test_multipliers_to_the_limits_of_shifts():
    """Floats of all sizes: shifts of 2 to 62, and those that no shift is short enough for."""
    assert Multipliers.of(np.float32([2.0**29]), (-128, 127)) is None
    assert Multipliers.of(np.float32([np.inf]), (-128, 127)) is None
    numbers = np.float32([*2.0 ** np.arange(-60.0, 29), *3.0 ** np.arange(-40.0, 18)])
    found = Multipliers.of(numbers, (-128, 127))
    assert (found.shifts.min(), found.shifts.max()) == (2, 62)
    assert ((found.factors > 0) & (found.factors < 2**31)).all()
    again = (found.factors * 2.0**-found.shifts).astype(np.float32)
    is_normal = numbers >= 2.0**-32
    np.testing.assert_array_equal(again[is_normal], numbers[is_normal])
    sums = np.linspace(-(2**31), 2**31 - 1, 1001).astype(np.int64)[:, None]
    assert not found.apply(sums)[:, ~is_normal].any()


def test_multipliers_round_as_floats_do():
    """All sums between both limits, but for those that are corrected."""
    numbers = np.random.default_rng(3).uniform(1e-3, 3e-3, 12).astype(np.float32)
    found = Multipliers.of(numbers, (-125, 130))
    sums = np.arange(-135_000, 135_000)[:, None]
    here = np.clip(np.rint(scaled(sums, numbers, False)), -125, 130)
    fixed = np.repeat(sums, len(numbers), 1)
    for wrong, steps in zip(
        found.corrections.sums, found.corrections.steps, strict=True
    ):
        fixed = fixed + np.where(sums == wrong, steps, 0)
    np.testing.assert_array_equal(np.clip(found.apply(fixed), -125, 130), here)
    off = np.clip(found.apply(sums), -125, 130) != here
    assert off.sum() == np.abs(found.corrections.steps).sum()
    plain = Multipliers.fixed(numbers)
    assert off.sum() < (np.clip(plain.apply(sums), -125, 130) != here).sum()


def test_fixed_point_networks_are_integers():
    """Networks without floats have TOSA's own arithmetic, halves and all."""
    for name in ("usual", "halves"):
        module, arrays = NODES["conv2d"](SCALES[name], POINTS[1])
        module.attributes["glow.requantize"] = StringAttr("fixed")
        (expected,) = run(module, arrays)
        text = text_of(module, "exact")
        assert "f32" not in text
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(rescale, "FORMS", ())
            (found,) = run(converted(text), arrays)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.skipif(find_mlir_opt() is None, reason=ABSENT)
def test_upstream_verifies():
    texts = []
    for node, make in NODES.items():
        for name, numerics in (
            ("usual", "fast"),
            ("usual", "exact"),
            ("halves", "exact"),
        ):
            texts.append(text_of(make(SCALES[name], POINTS[2])[0], numerics))
            assert "tosa.rescale" in texts[-1] or node in MOVED or numerics == "exact"
    assert len(mlir_opt_each(texts)) == len(texts)
