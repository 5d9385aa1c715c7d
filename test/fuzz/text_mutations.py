"""Programs of the lit tests with a few tokens changed: each runs, or fails in one line.

A mutation keeps most of a program, so that many get past the parser and meet verifiers,
passes and lowerings with types, attributes and shapes that nobody wrote.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from checks import Wrong
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.utils.exceptions import ParseError

from glow.compiler import lower_to, run_passes
from glow.diagnostics import diagnose
from glow.frontends.mlir import parse_text
from glow.universe import get_glow_passes, new_context
from glow.verification import verify_module

ROOT = Path(__file__).parents[1]
FOLDERS = ("dialects", "graph", "instr", "loops_to_llvm", "lowering", "quantization")
TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|[%@#!^]?[\w.$]+|->|\s+|.', re.DOTALL)
FIRST_FUNCTION = re.compile(r"(func\.func (?:private )?@)\w+")
NUMBER = re.compile(r"(?<![a-wyz\d.])\d+(?=[x.e]|$)")
NUMBERS = ("0", "1", "2", "3", "-1", "7", "97", "4294967296")
ELEMENTS = ("f32", "f16", "bf16", "f64", "i1", "i8", "ui8", "i32", "i64", "index")
ELEMENT = re.compile(rf"({'|'.join(ELEMENTS)})$")
STAGES = ("graph", "lowered", "instr", "loops", "llvm")
LONGEST = 6000
"""Characters of a program; longer ones take the time of many."""

Work = Callable[[ModuleOp], object]


class Unclear(Wrong):
    """A program whose failure is not one clear line."""


@cache
def programs() -> list[str]:
    """The programs of the lit tests, wrong ones too."""
    files = [
        path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.mlir"))
    ]
    chunks = [chunk for file in files for chunk in file.read_text().split("// -----\n")]
    bare = (re.sub(r"//[^\n]*\n", "\n", chunk).strip() for chunk in chunks)
    named = (FIRST_FUNCTION.sub(r"\1main", chunk, count=1) for chunk in bare)
    return [chunk for chunk in named if chunk and len(chunk) <= LONGEST]


@cache
def context() -> Context:
    """One context for all: to load dialects takes longer than a program."""
    return new_context()


def readable_operations() -> Iterator[Operation]:
    """The operations of those programs that can be read."""
    for text in programs():
        try:
            module = parse_text(context(), text, "f.mlir")
        except ParseError:
            continue
        yield from module.walk()


@dataclass
class Mutator:
    """Changes tokens of a program at random."""

    random: np.random.Generator
    tokens: list[str]

    def pick(self, pattern: str) -> int | None:
        """The place of a token that a pattern matches as a whole."""
        found = [
            i for i, token in enumerate(self.tokens) if re.fullmatch(pattern, token)
        ]
        return int(self.random.choice(found)) if found else None

    def mutate(self) -> None:
        """Apply one change."""
        changes = (
            self.replace_number,
            self.replace_number,
            self.replace_element,
            self.change_rank,
            self.change_rank,
            self.replace_container,
            self.drop_item,
            self.replace_value,
            self.replace_operation,
            self.replace_by_another,
            self.drop_line,
            self.move_line,
        )
        changes[int(self.random.integers(len(changes)))]()

    def replace(self, pattern: str, choices: list[str]) -> None:
        """Put one of some tokens where another of a kind stands."""
        place = self.pick(pattern)
        if place is not None and choices:
            self.tokens[place] = str(self.random.choice(choices))

    def same_kind(self, pattern: str) -> list[str]:
        return sorted({token for token in self.tokens if re.fullmatch(pattern, token)})

    def replace_number(self) -> None:
        """A dimension, an attribute or an element."""
        place = self.pick(rf"{NUMBER.pattern}.*")
        if place is None:
            return
        token = self.tokens[place]
        found = list(NUMBER.finditer(token))
        old = found[int(self.random.integers(len(found)))]
        new = str(self.random.choice(NUMBERS))
        self.tokens[place] = token[: old.start()] + new + token[old.end() :]

    def replace_element(self) -> None:
        """The element type of a tensor, or a scalar type."""
        pattern = rf"(\d+x)*({'|'.join(ELEMENTS)})"
        place = self.pick(pattern)
        if place is not None:
            new = str(self.random.choice(ELEMENTS))
            self.tokens[place] = re.sub(ELEMENT, new, self.tokens[place])

    def change_rank(self) -> None:
        """A dimension more or less in every tensor of a size, or in one."""
        place = self.pick(r"(\d+x)+[\w!]+")
        if place is None:
            return
        old = self.tokens[place]
        size, _, rest = old.partition("x")
        new = rest if self.random.integers(2) else f"{size}x{old}"
        everywhere = self.random.integers(2)
        self.tokens = [
            new if i == place or (everywhere and token == old) else token
            for i, token in enumerate(self.tokens)
        ]

    def replace_container(self) -> None:
        """Memrefs for tensors, in one type or everywhere."""
        place = self.pick("tensor|memref|vector")
        if place is None:
            return
        old, new = self.tokens[place], str(self.random.choice(["tensor", "memref"]))
        if self.random.integers(2):
            self.tokens[place] = new
        else:
            self.tokens = [new if token == old else token for token in self.tokens]

    def drop_item(self) -> None:
        """An item of a list: an operand, a result, an element."""
        place = self.pick(",")
        if place is not None:
            end = place + 1
            while end < len(self.tokens) and self.tokens[end] not in ",)]:\n":
                end += 1
            del self.tokens[place:end]

    def replace_value(self) -> None:
        self.replace(r"%[\w.$]+", self.same_kind(r"%[\w.$]+"))

    def replace_operation(self) -> None:
        self.replace(r"[a-z]+\.[\w.]+", operations())

    def replace_by_another(self) -> None:
        """Any token by any other."""
        self.replace(r"\S+", self.same_kind(r"\S+"))

    def lines(self) -> list[str]:
        return "".join(self.tokens).split("\n")

    def drop_line(self) -> None:
        lines = self.lines()
        del lines[int(self.random.integers(len(lines)))]
        self.tokens = TOKEN.findall("\n".join(lines))

    def move_line(self) -> None:
        """A line to another place, where its operands may not be defined."""
        lines = self.lines()
        line = lines.pop(int(self.random.integers(len(lines))))
        lines.insert(int(self.random.integers(len(lines) + 1)), line)
        self.tokens = TOKEN.findall("\n".join(lines))


@cache
def operations() -> list[str]:
    """The names of operations that occur in the programs."""
    pattern = re.compile(r"(?:= |^\s*)([a-z]+\.[\w.]+)", re.MULTILINE)
    return sorted({name for text in programs() for name in pattern.findall(text)})


def mutated(seed: int) -> str:
    """The program of a seed."""
    random = np.random.default_rng(seed)
    text = str(random.choice(np.array(programs(), object)))
    mutator = Mutator(random, TOKEN.findall(text))
    for _ in range(int(random.integers(1, 4))):
        mutator.mutate()
    return "".join(mutator.tokens)


def check_text(text: str, what: str, work: Work) -> int:
    """Read a program and work on it; 1 if that works, 0 if it fails in one clear line."""
    try:
        module = parse_text(context(), text, "mutated.mlir")
        verify_module(module)
        work(module)
    except Exception as error:
        line = diagnose(error).text("fuzz")
        if "internal error" in line or "\n" in line or len(line) > 2200:
            raise Unclear(f"{what}: {line[:300]}") from error
        return 0
    return 1


def check_mutation(seed: int) -> int:
    """Compile the program of a seed to one of the stages, or run one pass on it."""
    return check_text(mutated(seed), f"seed {seed}", work_of(seed))


def work_of(seed: int) -> Work:
    """What is done with the program of a seed."""
    known = get_glow_passes()
    passes = sorted(known.keys() - {"fit-memory"})  # Which needs a limit.
    if seed % 2:
        name = passes[seed // 2 % len(passes)]
        return lambda module: run_passes(module, [known[name]()()])
    stage = STAGES[seed // 2 % len(STAGES)]
    return lambda module: lower_to(module, stage)
