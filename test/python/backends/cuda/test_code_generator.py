"""LLVM in processes of its own: what it makes, rejects, and ends at."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from glow import GlowError
from glow.backends.cuda.code_generator import (
    SIZE_BYTES,
    WORKER,
    CodeGenerator,
    CodeGenerators,
)
from glow.lowering.target.target import Target

TARGET = Target.from_string("sm_80")


def kernel(name: str, body: str = "") -> str:
    return f"define ptx_kernel void @{name}(ptr %p) {{\n{body}  ret void\n}}\n"


NO_PTX = "declare double @llvm.sin.f64(double)\n" + kernel(
    "wave",
    "  %x = load double, ptr %p\n"
    "  %y = call double @llvm.sin.f64(double %x)\n"
    "  store double %y, ptr %p\n",
)


def test_many_texts_one_after_the_other() -> None:
    with closing(CodeGenerator()) as generator:
        texts = [generator.assembly(kernel(f"k{n}"), TARGET) for n in range(3)]
        hopper = generator.assembly(kernel("k"), Target.from_string("sm_90"))
    for number, text in enumerate(texts):
        assert f".visible .entry k{number}(" in text
        assert ".target sm_80" in text
    assert ".target sm_90" in hopper


def test_a_text_that_is_rejected_is_an_error_of_its_own() -> None:
    with closing(CodeGenerator()) as generator:
        with pytest.raises(GlowError, match=r"rejects the generated code: .*expected"):
            generator.assembly("define nothing", TARGET)
        assert ".entry k(" in generator.assembly(kernel("k"), TARGET)


def test_a_process_that_llvm_ends_is_an_error_of_its_text() -> None:
    with closing(CodeGenerators()) as generators:
        with pytest.raises(GlowError, match="which has no PTX for it"):
            generators.assembly(NO_PTX, TARGET)
        assert ".entry k(" in generators.assembly(kernel("k"), TARGET)


def test_threads_have_processes_of_their_own() -> None:
    with closing(CodeGenerators()) as generators, ThreadPoolExecutor(4) as pool:
        texts = [kernel(f"k{number}") for number in range(8)]
        made = list(pool.map(lambda text: generators.assembly(text, TARGET), texts))
    assert all(f".entry k{number}(" in text for number, text in enumerate(made))


def is_asleep(process: int) -> bool:
    """Whether a process waits, for what it writes to be read."""
    with open(f"/proc/{process}/stat") as file:
        return file.read().rpartition(")")[2].split()[0] == "S"


def stop_and_continue(worker: subprocess.Popen[bytes]) -> None:
    """Two signals, when the process waits."""
    while not is_asleep(worker.pid):
        time.sleep(0.01)
    worker.send_signal(signal.SIGSTOP)
    worker.send_signal(signal.SIGCONT)


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_a_signal_cuts_no_answer() -> None:
    """Where Python does not buffer its output, either; the answer fills the pipe."""
    body = "".join(f"  store i32 {n}, ptr %p\n  fence seq_cst\n" for n in range(5000))
    request = json.dumps([TARGET.triple, TARGET.cpu, "", kernel("long", body)]).encode()
    command = [sys.executable, "-P", str(WORKER)]
    unbuffered, pipe = {**os.environ, "PYTHONUNBUFFERED": "1"}, subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, env=unbuffered) as worker:
        assert worker.stdin
        assert worker.stdout
        worker.stdin.write(len(request).to_bytes(SIZE_BYTES, "little") + request)
        worker.stdin.flush()
        head = worker.stdout.read(1 + SIZE_BYTES)
        stop_and_continue(worker)
        worker.stdin.close()
        answer = worker.stdout.read()
    assert len(answer) == int.from_bytes(head[1:], "little") > 1 << 17
