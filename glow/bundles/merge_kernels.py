"""Kernels that differ in numbers only become one function, with the numbers as arguments.

Kernels of one family for planes and channels of other sizes have the same instructions, but for
strides, trip counts and offsets. For size that is one function, and each call says which:

    define void @conv_a(ptr %v0) { ... %v5 = mul i32 %v4, 64 ... icmp slt i32 %v9, 16 ... }
    define void @conv_b(ptr %v0) { ... %v5 = mul i32 %v4, 32 ... icmp slt i32 %v9, 8 ... }

    define void @conv_a(ptr %v0, i32 %n0, i32 %n1) { ... %v5 = mul i32 %v4, %n0 ... }
    call void @conv_a(ptr %x, i32 32, i32 8)

Numbers that are equal in all functions stay where they are, and those that always go together are
one argument. It works on the text of LLVM IR before LLVM's passes, where equal kernels are
equal but for these numbers.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

MAX_ARGUMENTS = 12
LINES_AN_ARGUMENT = 4
"""What a call and a function take for one more argument, in instructions."""

FUNCTION = re.compile(
    r"^define void @(?P<name>\w+)\((?P<arguments>[^)]*)\)(?P<rest>[^\n]*\{\n)"
    r"(?P<body>.*?^\}$)",
    re.DOTALL | re.MULTILINE,
)
NUMBER = re.compile(
    r"(?P<before>(?:= (?:mul|add|sub|udiv|sdiv|urem|srem|icmp \w+) (?P<type>i\d+) %\w+, )|"
    r"(?:= getelementptr i8, ptr %\w+, )(?P<offset>i\d+ )|"
    r"(?:= call i\d+ @llvm\.[su](?:min|max)\.i\d+\((?P<left>i\d+) )|"
    r"(?:= call i\d+ @llvm\.[su](?:min|max)\.i\d+\(i\d+ %\w+, (?P<right>i\d+) ))"
    r"(?P<value>-?\d+)(?=$|,|\))",
    re.MULTILINE,
)
"""An integer that may be an argument: it is no part of a type, an alignment or a vector."""

OFFSET_TYPE = "i32"
"""Of distances in a buffer, which LLVM extends."""
LARGEST_OFFSET = 1 << 31


class Kernel(NamedTuple):
    """A function of the text, without the numbers of its body."""

    name: str
    arguments: str
    rest: str
    body: str
    """With `@` in the place of each number."""
    numbers: Sequence[tuple[str, int]]
    """The types and values."""


class Merged(NamedTuple):
    """What stands for a kernel: another function and the last arguments of its calls."""

    name: str
    arguments: str


def merge_kernels(text: str) -> str:
    """LLVM IR whose functions that differ in numbers only are one."""
    families: defaultdict[tuple[str, ...], list[Kernel]] = defaultdict(list)
    for found in FUNCTION.finditer(text):
        kernel = _kernel(found)
        families[kernel.arguments, kernel.rest, kernel.body].append(kernel)
    merged: dict[str, Merged] = {}
    functions: dict[str, str] = {}
    for family in families.values():
        columns = list(zip(*(kernel.numbers for kernel in family), strict=True))
        if is_worthwhile(family, columns):
            functions[family[0].name] = _function(family, columns)
            merged |= _calls(family, columns)
    return _with_calls(_with_functions(text, functions, merged), merged)


def _kernel(found: re.Match[str]) -> Kernel:
    numbers: list[tuple[str, int]] = []

    def take(number: re.Match[str]) -> str:
        value, before = int(number["value"]), number["before"]
        type_ = number["type"] or number["left"] or number["right"]
        if type_ is None:
            if abs(value) >= LARGEST_OFFSET:
                return number[0]
            type_ = OFFSET_TYPE
            before = before.removesuffix(number["offset"]) + f"{OFFSET_TYPE} "
        numbers.append((type_, value))
        return f"{before}@@"

    body = NUMBER.sub(take, found["body"])
    return Kernel(found["name"], found["arguments"], found["rest"], body, numbers)


Columns = Sequence[tuple[tuple[str, int], ...]]
"""Of each number, its types and values in all functions of a family."""


def _arguments(columns: Columns) -> Sequence[tuple[tuple[str, int], ...]]:
    """The columns that differ, each once."""
    return list(dict.fromkeys(each for each in columns if len(set(each)) > 1))


def is_worthwhile(family: Sequence[Kernel], columns: Columns) -> bool:
    """Whether one function takes less code than several."""
    count, lines = len(_arguments(columns)), family[0].body.count("\n")
    return len(family) > 1 and count <= min(MAX_ARGUMENTS, lines // LINES_AN_ARGUMENT)


def _function(family: Sequence[Kernel], columns: Columns) -> str:
    """The text of the one function, which has the name of the first."""
    first, arguments = family[0], _arguments(columns)
    names = {each: f"%n{number}" for number, each in enumerate(arguments)}
    values = iter(names.get(each, str(each[0][1])) for each in columns)
    body = re.sub("@@", lambda _: next(values), first.body)
    added = ", ".join(f"{each[0][0]} {name}" for each, name in names.items())
    inputs = ", ".join(filter(None, (first.arguments, added)))
    return f"define void @{first.name}({inputs}){first.rest}{body}"


def _calls(family: Sequence[Kernel], columns: Columns) -> Mapping[str, Merged]:
    """What calls of each function become."""
    arguments = _arguments(columns)
    return {
        kernel.name: Merged(
            family[0].name,
            ", ".join(f"{each[place][0]} {each[place][1]}" for each in arguments),
        )
        for place, kernel in enumerate(family)
    }


def _with_functions(
    text: str, functions: Mapping[str, str], merged: Mapping[str, Merged]
) -> str:
    def replaced(found: re.Match[str]) -> str:
        if found["name"] not in merged:
            return found[0]
        return functions.get(found["name"], "")

    return FUNCTION.sub(replaced, text)


def _with_calls(text: str, merged: Mapping[str, Merged]) -> str:
    def replaced(found: re.Match[str]) -> str:
        new = merged.get(found[1])
        if new is None:
            return found[0]
        operands = ", ".join(filter(None, (found[2], new.arguments)))
        return f"call void @{new.name}({operands})"

    return re.sub(r"call void @(\w+)\(([^)\n]*)\)", replaced, text)
