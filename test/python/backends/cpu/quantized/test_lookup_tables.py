"""Functions of quantized numbers as tables: the bits of the function between its casts."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.parser import Parser

import glow
from glow.compiler import context
from glow.interpreter import run

TYPES = {
    "u8:f32, 0.05:100": "ui8",
    "i8:f32, 0.06:-3": "i8",
    "u16:f32, 0.0002:30000": "ui16",
    "i16:f32, 0.0003": "i16",
}
"""Elements and their storage."""
DTYPES = {"ui8": np.uint8, "i8": np.int8, "ui16": np.uint16, "i16": np.int16}


@pytest.mark.parametrize("function", ["sigmoid", "gelu", "exp"])
@pytest.mark.parametrize("source", TYPES)
@pytest.mark.parametrize("target", list(TYPES)[::3])
def test_every_number(function: str, source: str, target: str) -> None:
    dtype = DTYPES[TYPES[source]]
    limits = np.iinfo(dtype)
    x = np.arange(limits.min, limits.max + 1).astype(dtype)
    floats, first, last = (
        f"tensor<{len(x)}x{element}>"
        for element in (
            "f32",
            f"!quant.uniform<{source}>",
            f"!quant.uniform<{target}>",
        )
    )
    stored, result = (f"tensor<{len(x)}x{TYPES[name]}>" for name in (source, target))
    casts = ("glow" if TYPES[name][0] == "u" else "quant" for name in (source, target))
    text = f"""func.func @main(%x: {stored}) -> {result} {{
      %0 = {next(casts)}.scast %x : {stored} to {first}
      %1 = quant.dcast %0 : {first} to {floats}
      %2 = glow.{function} %1 : {floats}
      %3 = quant.qcast %2 : {floats} to {last}
      %4 = {next(casts)}.scast %3 : {last} to {result}
      func.return %4 : {result}
    }}"""
    module = Parser(context(), text).parse_module()
    (expected,) = run(module, [x])
    for backend in ("interpreter", "cpu"):
        np.testing.assert_array_equal(
            glow.compile(module, backend=backend)(x), expected
        )
