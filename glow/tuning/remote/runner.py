"""What runs on a board: loads libraries, fills buffers, and measures calls. No compiler, no NumPy.

Its source is sent behind that of `glow/tuning/measure.py`, whose names it finds in its own
namespace. A request is a line of JSON, then the bytes that it announces:

    {"load": NAME, "libraries": [bytes of each], "buffers": [[KIND, bytes], ...],
     "calls": [[library, symbol, [buffers], [integers]], ...]}      KIND: floats, zeros, content
    {"measure": [NAME, ...], "turns": 3, "cache": 1048576}   -> {"times": [[warm, cold], ...]}
    {"forget": true}

Each is answered by a line: what is asked for, or {"error": TEXT}.
"""

from __future__ import annotations

import array
import ctypes
import json
import os
import platform
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from glow.tuning.measure import Meter, Trial

ALIGNMENT = 4096
"""Of buffers: that of pages."""
FLOATS = 4096
"""As many different small numbers are in a buffer."""

Memory = dict[tuple[int, str, int], tuple[object, int]]
"""Buffers with their addresses, by place, kind and size: candidates share them."""


def filled(kind: str, size: int, stream: BinaryIO) -> tuple[object, int]:
    """Memory, and the aligned address of `size` bytes in it."""
    memory = ctypes.create_string_buffer(size + ALIGNMENT)
    address = -(-ctypes.addressof(memory) // ALIGNMENT) * ALIGNMENT
    if kind == "content":
        content = stream.read(size)
    elif kind == "floats":
        numbers = array.array("f", ((n * 37 % 101 - 50) / 500 for n in range(FLOATS)))
        content = (numbers.tobytes() * (size // (4 * FLOATS) + 1))[:size]
    else:
        content = b""
    ctypes.memmove(address, content, len(content))
    return memory, address


def loaded(request: Mapping[str, Any], stream: BinaryIO, memory: Memory) -> Trial:
    """A call of all that a request says, one behind the other; equal buffers are shared."""
    libraries: list[ctypes.CDLL] = []
    for size in request["libraries"]:
        with tempfile.NamedTemporaryFile(suffix=".so") as file:
            file.write(stream.read(size))
            file.flush()
            libraries.append(ctypes.CDLL(file.name))
    buffers: list[tuple[object, int]] = []
    for place, (kind, size) in enumerate(request["buffers"]):
        key = (place, kind, size)
        if kind == "content" or key not in memory:
            memory[key] = filled(kind, size, stream)
        buffers.append(memory[key])
    calls: list[tuple[Callable[..., object], list[int]]] = []
    wanted: Sequence[tuple[int, str, Sequence[int], Sequence[int]]] = request["calls"]
    for library, symbol, places, integers in wanted:
        kinds = [ctypes.c_void_p] * len(places) + [ctypes.c_int64] * len(integers)
        function = ctypes.CFUNCTYPE(ctypes.c_int, *kinds)((symbol, libraries[library]))
        calls.append((function, [*(buffers[n][1] for n in places), *integers]))
    keeps = (libraries, buffers)

    def run(keeps: object = keeps) -> None:
        for function, arguments in calls:
            function(*arguments)

    return run


class Runner:
    """Answers requests."""

    def __init__(self, stream: BinaryIO, meter: type[Meter]) -> None:
        self._stream = stream
        self._make_meter = meter
        self._meters: dict[int, Meter] = {}
        self._trials: dict[str, Trial] = {}
        self._memory: Memory = {}

    def answer(self, request: Mapping[str, Any]) -> Mapping[str, object]:
        """What a request asks for."""
        if "load" in request:
            self._trials[request["load"]] = loaded(request, self._stream, self._memory)
        elif "measure" in request:
            return {"times": self._times(request)}
        else:
            self._trials.clear()
            self._memory.clear()
        return {}

    def _times(self, request: Mapping[str, Any]) -> Sequence[Sequence[float]]:
        cache = request["cache"]
        if cache not in self._meters:
            self._meters[cache] = self._make_meter(cache)
        trials = [self._trials[name] for name in request["measure"]]
        times = self._meters[cache].measure(trials, request["turns"])
        return [[each.warm, each.cold] for each in times]


def serve(meter: type[Meter]) -> None:
    """Answer until the connection ends. What code prints goes to the errors."""
    stream, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    runner = Runner(stream, meter)
    print(json.dumps({"machine": platform.machine()}), file=answers, flush=True)
    for line in iter(stream.readline, b""):
        try:
            answer = runner.answer(json.loads(line))
        except Exception as error:  # Which is told, whatever it is.
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)
