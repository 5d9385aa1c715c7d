"""Functions of f32 for CPUs without floats that the runtime of C compilers lacks, too.

That runtime adds, multiplies, divides, compares and converts. LLVM calls the C library for the
rest of what float units do, which bundles have not: functions of ours take the place of these.

    call <4 x float> @llvm.sqrt.v4f32(%x)  ->  call <4 x float> @glow_sqrt_v4f32(%x)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from importlib.resources import files

from glow.lowering.target.target import Target

OPERANDS: Mapping[str, int] = {"sqrt": 1, "maximum": 2, "minimum": 2}
"""What `soft_floats.ll` defines of one f32 each, with the number of operands."""

ELEMENTS: Mapping[str, str] = {"f32": "float", "f16": "half", "bf16": "bfloat"}
"""LLVM's types by what names of intrinsics call them."""

INTRINSIC = re.compile(rf"@llvm\.({'|'.join(OPERANDS)})\.(v\d+)?(b?f16|f32)\(")


def with_soft_floats(text: str, target: Target) -> str:
    """LLVM IR with the functions that its target lacks."""
    found = sorted(set(INTRINSIC.findall(text)))
    if target.float_instructions or not found:
        return text
    lines = [
        INTRINSIC.sub(r"@glow_\1_\2\3(", line)
        for line in text.split("\n")
        if not (line.startswith("declare") and INTRINSIC.search(line))
    ]
    for name, lanes, element in found:
        if lanes or element != "f32":
            lines += lane_function(name, lanes, element)
    scalars = files("glow.bundles").joinpath("soft_floats.ll").read_text("utf-8")
    return "\n".join([*lines, scalars])


def lane_function(name: str, lanes: str, element: str) -> Iterator[str]:
    """The function that calls that of an f32 for each lane (`v4`, or nothing) of a type."""
    kind, type_ = f"{name}_{lanes}{element}", ELEMENTS[element]
    vector = f"<{lanes[1:]} x {type_}>" if lanes else type_
    places = [f"%x{k}" for k in range(OPERANDS[name])]
    operands = ", ".join(f"{vector} {place}" for place in places)
    yield f"define internal {vector} @glow_{kind}({operands}) nounwind {{"
    result = "poison"
    for lane in range(int(lanes[1:] or 1)):
        singles: list[str] = []
        for x in places:
            taken = f"extractelement {vector} {x}, i32 {lane}" if lanes else ""
            yield f"  {x}.{lane} = {taken or f'freeze {type_} {x}'}"
            yield f"  {x}.{lane}.wide = {_cast('fpext', type_, f'{x}.{lane}', 'float')}"
            singles.append(f"float {x}.{lane}.wide")
        yield f"  %y.{lane} = call float @glow_{name}_f32({', '.join(singles)})"
        yield f"  %z.{lane} = {_cast('fptrunc', 'float', f'%y.{lane}', type_)}"
        if lanes:
            place = f"{type_} %z.{lane}, i32 {lane}"
            yield f"  %r.{lane} = insertelement {vector} {result}, {place}"
        result = f"%r.{lane}" if lanes else f"%z.{lane}"
    yield f"  ret {vector} {result}"
    yield "}"


def _cast(operation: str, source: str, value: str, result: str) -> str:
    """A conversion, or nothing where both types are one."""
    if source == result:
        return f"freeze {source} {value}"
    return f"{operation} {source} {value} to {result}"
