"""Floats in MLIR text: read as upstream reads them, and printed so that it reads them too.

The expected bytes are what mlir-opt 22 makes of the same spellings.
"""

from __future__ import annotations

import math
import re
from typing import Any, cast

import numpy as np
import pytest
from support.programs.upstream import ABSENT, find_mlir_opt, mlir_opt
from xdsl.dialects.builtin import (
    AnyFloat,
    BytesAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    TensorType,
    bf16,
    f16,
    f32,
    f64,
)
from xdsl.ir import Attribute
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError

import glow
from glow.dialects.attributes import array_values, float_attr, floats_attr
from glow.dialects.float_text import bits_of_float, float_literal, float_of_bits
from glow.dialects.glow import ClipOp, SplatOp
from glow.dialects.printer import mlir_text
from glow.frontends.mlir import parse_text
from glow.universe import new_context

CONTEXT = new_context()
CONTEXT.allow_unregistered = True


def attribute_of(spelling: str) -> Attribute:
    """The attribute that a text spells, read in a file."""
    module = parse_text(CONTEXT, f'"t.op"() {{a = {spelling}}} : () -> ()', "f.mlir")
    return next(iter(module.ops)).attributes["a"]


def printed(attribute: Attribute) -> str:
    """The spelling of an attribute in a printed file."""
    module = parse_text(CONTEXT, '"t.op"() : () -> ()', "f.mlir")
    next(iter(module.ops)).attributes["a"] = attribute
    found = re.search(r"\{a = (.*)\} :", mlir_text(module))
    assert found
    return found[1]


DENSE = [
    ("dense<0xFF800000> : tensor<f32>", "000080ff"),
    ("dense<0xFF800000> : tensor<2xf32>", "000080ff" * 2),
    ("dense<[0x7FC00001, -0.0]> : tensor<2xf32>", "0100c07f" + "00000080"),
    ("dense<[0x7F800001, 1.0]> : vector<2xf32>", "0100807f" + "0000803f"),
    ("dense<0x4B400000> : vector<4x2xf32>", "0000404b" * 8),
    ("dense<[[0xFF80, 0x0001]]> : tensor<1x2xbf16>", "80ff" + "0100"),
    ("dense<[0xFC00, 0x7E01]> : vector<2xf16>", "00fc" + "017e"),
    ("dense<0x7FF0000000000001> : tensor<1xf64>", "010000000000f07f"),
    ("dense<0xF> : tensor<f32>", "0f000000"),
    ("dense<0xff800000> : memref<f32>", "000080ff"),
    ("dense<0x1> : tensor<0xf32>", ""),
    ("dense<[0x10, -0x1]> : tensor<2xi8>", "10ff"),
    ('dense<"0x000080FF"> : tensor<2xf32>', "000080ff" * 2),
]


@pytest.mark.parametrize(("spelling", "data"), DENSE)
def test_elements_are_bit_patterns(spelling: str, data: str) -> None:
    attribute = attribute_of(spelling)
    assert isinstance(attribute, DenseIntOrFPElementsAttr)
    assert attribute.data.data.hex() == data


ARRAYS = [
    ("array<f32: 0x7F800000, 0x7F800001, 1.0>", "0000807f0100807f0000803f"),
    ("array<f16: 0x7E01>", "017e"),
    ("array<f64: 0x7FF8000000000001, -0.0>", "010000000000f87f" + "0000000000000080"),
]


@pytest.mark.parametrize(("spelling", "data"), ARRAYS)
def test_arrays_are_bit_patterns(spelling: str, data: str) -> None:
    attribute = attribute_of(spelling)
    assert isinstance(attribute, DenseArrayBase)
    assert attribute.data.data.hex() == data


SCALARS = [
    ("0x7F800001 : f32", f32, 0x7F800001),
    ("0xFF800000 : f32", f32, 0xFF800000),
    ("0x7E01 : f16", f16, 0x7E01),
    ("0x7F81 : bf16", bf16, 0x7F81),
    ("0x7FF0000000000001 : f64", f64, 0x7FF0000000000001),
    ("0x7F : f32", f32, 0x7F),
]


@pytest.mark.parametrize(("spelling", "type", "bits"), SCALARS)
def test_scalars_are_bit_patterns(spelling: str, type: AnyFloat, bits: int) -> None:
    attribute = attribute_of(spelling)
    assert isinstance(attribute, FloatAttr)
    assert bits_of_float(attribute.value.data, type) == bits
    assert attribute_of(printed(attribute)) == attribute


@pytest.mark.parametrize(
    ("spelling", "message"),
    [
        ("dense<-0x1> : tensor<f32>", "takes no minus"),
        ("dense<0x1FFFFFFFF> : tensor<f32>", "0x1FFFFFFFF has more bits than f32"),
        ("dense<0x1FFFF> : tensor<f16>", "0x1FFFF has more bits than f16"),
        ("-0x1 : f32", "takes no minus"),
        ("0x1FFFFFFFF : f32", "0x1FFFFFFFF has more bits than f32"),
        ("array<f32: -0x1>", "float literal"),
        ("array<f16: 0x1FFFF>", "0x1FFFF has more bits than f16"),
        ("dense<(0x7F800000, 0x0)> : tensor<complex<f32>>", "no hexadecimal parts"),
    ],
)
def test_what_upstream_refuses(spelling: str, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        attribute_of(spelling)


TYPES: list[AnyFloat] = [f16, bf16, f32, f64]


def patterns_of(type: AnyFloat) -> list[int]:
    """Zeros, denormals, extremes, infinities and NaNs of a type, and random numbers."""
    width = 8 * type.compile_time_size
    fraction = {f16: 10, bf16: 7, f32: 23, f64: 52}[type]
    exponents = (1 << (width - 1)) - (1 << fraction)
    quiet = exponents | 1 << (fraction - 1)
    positive = [0, 1, (1 << fraction) - 1, 1 << fraction, exponents - 1, exponents]
    positive += [quiet, quiet | 1, exponents | 1, exponents | (1 << fraction) - 1]
    # Integers whose shortest decimal has no point, which xDSL prints as patterns.
    positive += [bits_of_float(value, type) for value in (1.0, 1 / 3, 40960.0)]
    if width > 16:
        positive += [bits_of_float(float(value), type) for value in (12582912, 2**53)]
    random = np.random.default_rng(1).integers(0, 2**63, 200, np.uint64)
    numbers = [int(number) % (1 << (width - 1)) for number in random]
    return [
        bits | sign << (width - 1) for bits in positive for sign in (0, 1)
    ] + numbers


def dense_of(type: AnyFloat, patterns: list[int]) -> DenseIntOrFPElementsAttr:
    data = b"".join(
        bits.to_bytes(type.compile_time_size, "little") for bits in patterns
    )
    return DenseIntOrFPElementsAttr(TensorType(type, [len(patterns)]), BytesAttr(data))


@pytest.mark.parametrize("type", TYPES, ids=str)
def test_printed_numbers_are_read_by_everyone(type: AnyFloat) -> None:
    """By us, and by xDSL's own parser, which knows no patterns among elements."""
    for bits in patterns_of(type):
        for attribute in (dense_of(type, [bits]), dense_of(type, [bits, 0])):
            text = printed(attribute)
            assert attribute_of(text) == attribute
            assert Parser(CONTEXT, text).parse_attribute() == attribute
        scalar = FloatAttr(float_of_bits(bits, type), type)
        assert attribute_of(printed(scalar)) == scalar


@pytest.mark.skipif(find_mlir_opt() is None, reason=ABSENT)
@pytest.mark.parametrize("type", TYPES, ids=str)
def test_printed_numbers_are_read_by_upstream(type: AnyFloat) -> None:
    """All patterns at once, as elements, arrays and scalars."""
    patterns = patterns_of(type)
    spellings = [printed(dense_of(type, [bits, 0])) for bits in patterns]
    numbers = [float_literal(float_of_bits(bits, type), type) for bits in patterns]
    spellings += [f"{number} : {type}" for number in numbers]
    spellings.append(f"array<{type}: {', '.join(numbers)}>")
    text = "\n".join(
        f'"t.op"() {{a = {spelling}}} : () -> ()' for spelling in spellings
    )
    theirs = mlir_opt(text, "--allow-unregistered-dialect", "--mlir-print-op-generic")
    found = re.findall(r"\{a = (.*)\} :", theirs)
    assert len(found) == len(spellings)
    for ours, upstream in zip(spellings, found, strict=True):
        assert literal_bytes(upstream, type) == literal_bytes(ours, type), ours


def literal_bytes(spelling: str, type: AnyFloat) -> bytes:
    """The bytes of a printed constant; what mlir-opt prints is decimals and patterns."""
    body = re.sub(r"^(dense|array<\w+: )|: [^:]*$", "", spelling)
    if '"' in body:
        data = bytes.fromhex(body.split('"')[1][2:])
        return data * (2 * type.compile_time_size // len(data))
    words = re.findall(r"[^\s\[\],<>]+", body)
    if spelling.startswith("dense") and len(words) == 1:
        words *= 2
    return b"".join(
        (
            int(word, 16)
            if word.lower().startswith("0x")
            else bits_of_float(float(word), type)
        ).to_bytes(type.compile_time_size, "little")
        for word in words
    )


@pytest.mark.skipif(find_mlir_opt() is None, reason=ABSENT)
@pytest.mark.parametrize("spelling", [one for one, _ in DENSE + ARRAYS])
def test_upstream_reads_the_same(spelling: str) -> None:
    text = f'"t.op"() {{a = {spelling}}} : () -> ()'
    theirs = mlir_opt(text, "--allow-unregistered-dialect", "--mlir-print-op-generic")
    found = re.search(r"\{a = (.*)\} :", theirs)
    assert found
    assert attribute_of(found[1]) == attribute_of(spelling)


PROPERTIES = [
    ("low -0.0 high inf", (-0.0, math.inf)),
    ("low -inf high 0x7F7FFFFF", (-math.inf, float_of_bits(0x7F7FFFFF, f32))),
    ("low nan<0xFFC00001> high 1.0e-45", (float_of_bits(0xFFC00001, f32), 1e-45)),
    ("low 12582912.0 high 16777216.0", (12582912.0, 16777216.0)),
]


@pytest.mark.parametrize(("properties", "expected"), PROPERTIES)
def test_properties_of_nodes(properties: str, expected: tuple[float, float]) -> None:
    float_attr(0.0)  # A cache must not give its attribute for -0.0.
    text = f"""func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {{
      %y = glow.clip %x {properties} : tensor<2xf32>
      func.return %y : tensor<2xf32>
    }}"""
    module = parse_text(new_context(), text, "f.mlir")
    for again in (module, parse_text(new_context(), mlir_text(module), "g.mlir")):
        (clip,) = (op for op in again.walk() if isinstance(op, ClipOp))
        values = (clip.low, clip.high)
        found = [bits_of_float(cast(Any, value).value.data, f32) for value in values]
        assert found == [bits_of_float(value, f32) for value in expected]


def test_negative_zero_is_no_zero() -> None:
    assert math.copysign(1, float_attr(0.0).value.data) == 1
    assert math.copysign(1, float_attr(-0.0).value.data) == -1
    assert floats_attr(0.0) != floats_attr(-0.0)
    assert math.copysign(1, array_values(floats_attr(-0.0))[0]) == -1


def test_splats_keep_their_bits() -> None:
    text = """func.func @main() -> tensor<2xf32> {
      %y = glow.splat 0x7F800001 : tensor<2xf32>
      func.return %y : tensor<2xf32>
    }"""
    module = parse_text(new_context(), text, "f.mlir")
    again = parse_text(new_context(), mlir_text(module), "g.mlir")
    (splat,) = (op for op in again.walk() if isinstance(op, SplatOp))
    assert bits_of_float(float(splat.number), f32) == 0x7F800001


def test_a_scale_without_a_point_is_printed_as_a_decimal() -> None:
    """Upstream's quantized types take decimals only, and xDSL prints 0x4170000000000000."""
    scale = "tensor<2x!quant.uniform<i8:f32, 1.6777217e+07>>"
    text = f"""func.func @main(%x: {scale}) -> {scale} {{
      func.return %x : {scale}
    }}"""
    module = parse_text(new_context(), text, "f.mlir")
    assert "0x" not in mlir_text(module)
    assert mlir_text(parse_text(new_context(), mlir_text(module), "g")) == mlir_text(
        module
    )


def test_a_causal_mask_in_text() -> None:
    """The masked scores must not count: this was an attention of 4.3e9 once."""
    text = """func.func @main(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
      %m = glow.constant dense<[[0.0, 0xFF800000], [0.0, 0.0]]> : tensor<2x2xf32>
      %s = glow.add %x, %m : tensor<2x2xf32>
      %y = glow.softmax %s axis 1 : tensor<2x2xf32>
      func.return %y : tensor<2x2xf32>
    }"""
    module = parse_text(new_context(), text, "mask.mlir")
    result = glow.compile(module)(np.zeros((2, 2), np.float32))
    np.testing.assert_array_equal(result, [[1, 0], [0.5, 0.5]])
