"""LLVM in processes of its own, from LLVM IR to PTX.

LLVM's options are those of a process, and code for a GPU wants others (`llvm_worker.py`) than that
for the CPU, which this process may generate at the same time. They work beside each other, as
llvmlite's threads do not, and where LLVM has no PTX for something it ends a process that is not
the user's.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from glow.dialects.errors import GlowError
from glow.lowering.target.target import Target

WORKER = Path(__file__).with_name("llvm_worker.py")
SIZE_BYTES = 8


class CodeGenerator:
    """One process; its calls are made one at a time."""

    def __init__(self) -> None:
        # Its own folder, whose modules are no packages of Python's, stays out of the path.
        command = [sys.executable, "-P", str(WORKER)]
        pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
        self._process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=nothing
        )

    @property
    def _pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        sink, source = self._process.stdin, self._process.stdout
        assert sink is not None
        assert source is not None
        return sink, source

    def assembly(self, text: str, target: Target) -> str:
        """The PTX of LLVM IR.

        Raises GlowError for text that LLVM rejects, or ends at, which is a defect of ours.
        """
        sink, source = self._pipes
        request: Sequence[str] = (target.triple, target.cpu, target.features, text)
        data = json.dumps(request).encode()
        try:
            sink.write(len(data).to_bytes(SIZE_BYTES, "little") + data)
            sink.flush()
        except OSError:  # It has ended before, or cannot start.
            return _failed("which cannot work in a process of its own")
        head = source.read(1 + SIZE_BYTES)
        if not head:
            return _failed("which has no PTX for it")
        said = source.read(int.from_bytes(head[1:], "little")).decode()
        return _failed(said) if head[0] else said

    def close(self) -> None:
        """End the process."""
        for pipe in self._pipes:
            with suppress(OSError):  # It has ended with a request unread.
                pipe.close()
        self._process.wait()


def _failed(reason: str) -> str:
    raise GlowError(f"LLVM rejects the generated code: {reason}")


class CodeGenerators:
    """Processes for as many threads as work at a time."""

    def __init__(self) -> None:
        self._all: list[CodeGenerator] = []
        self._idle: list[CodeGenerator] = []

    def assembly(self, text: str, target: Target) -> str:
        """As `CodeGenerator.assembly`, by a process that is idle."""
        try:
            taken = self._idle.pop()
        except IndexError:
            taken = CodeGenerator()
            self._all.append(taken)
        made = taken.assembly(text, target)
        self._idle.append(taken)  # One that failed may have ended.
        return made

    def close(self) -> None:
        """End all of them."""
        for each in self._all:
            each.close()
