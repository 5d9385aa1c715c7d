"""The proof of memory plans, against a look at every pair and in edited text."""

from __future__ import annotations

import random
import re
from itertools import combinations
from pathlib import Path

import pytest
from places import ROOT
from xdsl.dialects import func
from xdsl.dialects.builtin import MemRefType, i8

import glow
from glow.compiler import load, lower_to
from glow.dialects import instr
from glow.dialects.errors import GlowError
from glow.options import CompileOptions
from glow.passes.instr.lifetimes import Lifetime
from glow.passes.instr.packing.interval_packing import pack
from glow.passes.instr.verify_plan import verify_plan
from glow.signature import main_function
from glow.tools.compile_command import compile_model

SMALL = ROOT / "docs" / "small.mlir"
LINE = 64


def random_lives(count: int, choose: random.Random) -> list[Lifetime]:
    """Buffers with lives of random lengths, without places, by their starts."""
    found: list[Lifetime] = []
    for start in sorted(choose.randrange(2 * count) for _ in range(count)):
        size, end = LINE * choose.randint(1, 4), start + choose.randint(0, 6)
        alloc = instr.AllocOp.build_memory([], MemRefType(i8, [size]))
        found.append(Lifetime(size, start, end, alloc))
    return found


def give_places(lives: list[Lifetime], offsets: list[int]) -> None:
    """Place each buffer."""
    for life, offset in zip(lives, offsets, strict=True):
        placed = instr.AllocOp.build_memory([], MemRefType(i8, [1]), offset=offset)
        life.alloc.properties["offset"] = placed.properties["offset"]


def is_refused(lives: list[Lifetime]) -> bool:
    """Whether the proof fails."""
    try:
        verify_plan(func.FuncOp("main", ([], [])), lives)
    except GlowError:
        return True
    return False


def overlap(one: Lifetime, other: Lifetime) -> bool:
    """Whether two buffers share a byte while both are alive."""
    assert one.alloc.offset is not None
    assert other.alloc.offset is not None
    first, second = (life.alloc.offset.value.data for life in (one, other))
    return (
        one.overlaps(other)
        and first < second + other.size
        and second < first + one.size
    )


@pytest.mark.parametrize("seed", range(100))
def test_the_sweep_finds_what_pairs_tell(seed: int) -> None:
    """A good plan is proven; with one buffer moved, all that pairs find is found."""
    choose = random.Random(seed)
    lives = random_lives(choose.randint(1, 24), choose)
    offsets = pack(lives)
    give_places(lives, offsets)
    assert not is_refused(lives)
    for number in range(len(lives)):
        moved = [*offsets]
        moved[number] = LINE * choose.randrange(max(offsets) // LINE + 2)
        give_places(lives, moved)
        expected = any(overlap(one, other) for one, other in combinations(lives, 2))
        assert is_refused(lives) == expected


EDITS = [
    (r"alloc offset \d+", "alloc offset 4096", "ends at byte 5120 of the arena, which"),
    (r"input_count = 1", "input_count = 0", "nothing writes argument 1, an output"),
    (r"input_count = 1", "input_count = 2", "writes an input"),
    (r"live_bytes = \d+", "live_bytes = 1", "bytes are alive at once"),
]


@pytest.mark.parametrize(("pattern", "new", "message"), EDITS)
def test_edited_text_is_refused(
    pattern: str, new: str, message: str, tmp_path: Path
) -> None:
    text = tmp_path / "small.instr.mlir"
    compile_model(SMALL, "instr", text, CompileOptions())
    text.write_text(re.sub(pattern, new, text.read_text()))
    for stage in ("instr", "loops"):
        with pytest.raises(GlowError, match=message):
            lower_to(load(text), stage)
    with pytest.raises(GlowError, match=message):
        glow.compile(text)


def test_a_program_without_its_input_count_does_not_run() -> None:
    module = load(SMALL)
    lower_to(module, "instr")
    del main_function(module).attributes["glow.input_count"]
    with pytest.raises(GlowError, match="does not say how many of its arguments"):
        glow.compile(module)
