"""Functions that kernels bring along: floats of 16 bits, held as words, to `float` and back.

`half` is converted by loads and stores, which every device has; bf16 is the upper half of a
`float`, rounded to the nearest even one, and a NaN stays one.
"""

from __future__ import annotations

from collections.abc import Iterable

from glow.lowering.opencl_c.c_types import vector_name

FLOAT_OF_HALF = """\
static FLOAT float_of_half{n}(USHORT x) {{ return vload_half{s}(0, (__private const half *)&x); }}
"""

HALF_OF_FLOAT = """\
static USHORT half_of_float{n}(FLOAT x) {{
  USHORT y;
  vstore_half{s}_rte(x, 0, (__private half *)&y);
  return y;
}}
"""

FLOAT_OF_BFLOAT = """\
static FLOAT float_of_bfloat{n}(USHORT x) {{ return as_FLOAT(convert_UINT(x) << 16); }}
"""

BFLOAT_OF_FLOAT = """\
static USHORT bfloat_of_float{n}(FLOAT x) {{
  UINT bits = as_UINT(x);
  UINT rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  return convert_USHORT({choice});
}}
"""

HELPERS = {
    "float_of_half": FLOAT_OF_HALF,
    "half_of_float": HALF_OF_FLOAT,
    "float_of_bfloat": FLOAT_OF_BFLOAT,
    "bfloat_of_float": BFLOAT_OF_FLOAT,
}


def helper_text(name: str, lanes: int) -> str:
    """The definition of a function for so many lanes."""
    quiet = "(bits >> 16) | 64u"
    choice = f"select(rounded, {quiet}, isnan(x))"
    if lanes == 1:
        choice = f"isnan(x) ? {quiet} : rounded"
    text = HELPERS[name].format(n=lanes, s="" if lanes == 1 else lanes, choice=choice)
    for scalar in ("float", "ushort", "uint"):
        text = text.replace(scalar.upper(), vector_name(scalar, lanes))
    return text


def helper_texts(used: Iterable[tuple[str, int]]) -> list[str]:
    """The definitions of functions, in one order."""
    return [helper_text(name, lanes) for name, lanes in sorted(used)]
