"""How much of the stack a call of a bundle may take: the deepest path of its call graph.

LLVM warns of each function whose frame is larger than a limit (`warn-stack-size`), and the limit
is 0 here: the warnings are the frames, saved registers included. On machines that push the
address to return to at a call, that is added to each. The functions of the compiler's runtime
(`__udivdi3`) and `memcpy` are of another library, and are taken to need no more than
`RUNTIME_BYTES`. Functions of the user (a barrier, callbacks for debugging) are left out.

    warning: stack frame size (72) exceeds limit (0) in function 'lenet_conv2d_02c89abe6e3f'
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager

from glow.lowering.target.target import Target

RUNTIME_BYTES = 64
"""Of a function of the compiler's runtime, which calls no others of its kind."""

FLOAT_GAP = 4
"""What Arm's code may leave free before the float registers that it saves, which are aligned."""

DEFINE = re.compile(r"^define [^\n]*@\"?([\w.$]+)\"?\(", re.MULTILINE)
CALL = re.compile(r"\bcall\b[^\n]*?@\"?([\w.$]+)\"?\(")
FRAME = re.compile(r"stack frame size \((\d+)\) exceeds limit \(0\) in function '(.+)'")


def with_frame_warnings(text: str) -> str:
    """LLVM IR whose functions ask for a warning with the size of their frame."""
    return re.sub(
        r"^(define [^\n]* nounwind)",
        r'\1 "warn-stack-size"="0"',
        text,
        flags=re.MULTILINE,
    )


@contextmanager
def matches_told(pattern: re.Pattern[str]) -> Generator[list[re.Match[str]]]:
    """What LLVM writes that has a pattern, known when the block has ended.

    It writes to the error stream of the process; what else comes there is passed on.
    """
    matches: list[re.Match[str]] = []
    sys.stderr.flush()
    with tempfile.TemporaryFile() as told:
        kept = os.dup(2)
        os.dup2(told.fileno(), 2)
        try:
            yield matches
        finally:
            os.dup2(kept, 2)
            os.close(kept)
            told.seek(0)
            for line in told.read().decode(errors="replace").splitlines():
                found = pattern.search(line)
                if found is None:
                    sys.stderr.write(f"{line}\n")
                else:
                    matches.append(found)


@contextmanager
def frames_told() -> Generator[dict[str, int]]:
    """The frames of functions by name, which are known when the block has ended."""
    frames: dict[str, int] = {}
    with matches_told(FRAME) as matches:
        yield frames
    frames.update((found[2], int(found[1])) for found in matches)


def stack_bound(
    calls: Mapping[str, frozenset[str]],
    frames: Mapping[str, int],
    target: Target,
    *,
    calls_runtime: bool,
) -> int:
    """The bytes that the deepest path of a call graph takes; no function calls itself."""
    library = RUNTIME_BYTES if calls_runtime else 0
    gap = FLOAT_GAP if target.triple.endswith("eabihf") else 0
    pushed = target.index_bits // 8 if target.triple.startswith("x86_64") else 0
    alignment = target.vector_bytes if pushed else 0
    depths: dict[str, int] = {}

    def depth(name: str) -> int:
        if name not in calls:
            return library
        if name not in depths:
            frame = frames.get(name, 0)
            frame += pushed + (alignment + gap if frame else 0)
            below = max(map(depth, calls[name]), default=0)
            depths[name] = frame + max(below, library)
        return depths[name]

    return max(map(depth, calls))


def call_graph(functions: Iterable[str]) -> Mapping[str, frozenset[str]]:
    """The functions that each function, in LLVM IR, calls; intrinsics left out."""
    graph: dict[str, frozenset[str]] = {}
    for text in functions:
        start = DEFINE.search(text)
        if start is not None:
            called = CALL.findall(text, start.end())
            graph[start[1]] = frozenset(
                name for name in called if not name.startswith("llvm.")
            )
    return graph
