"""The process-wide pool of worker threads: every worker runs the whole program.

A call publishes one 32-bit word (generation and thread count); workers spin on it for a
moment after each call and then park in a futex, since waking a parked thread costs half
a millisecond and a spinning one 0.1 us. Generated code calls `glow_barrier` between
dependent kernels. A call that finds the pool busy runs with one thread, and where cores
are short calls get fewer (`crowding.py`): results do not depend on the thread count. The
pool is native code, so no worker ever takes the GIL.
After a fork the child makes a pool of its own, for threads do not survive a fork.
"""

from __future__ import annotations

import ctypes
import os
import threading

from glow.lowering.target.target import Target
from glow.runtime.caches.runtime_objects import runtime_object
from glow.runtime.linking.library import Library
from glow.runtime.threads.crowding import clocks, crowding_code

MAX_THREADS = 255
"""The thread count takes eight bits of the published word."""

SPINS_BEFORE_PARKING = 20_000
"""About a quarter of a millisecond."""

SPINS_BEFORE_YIELDING = 2_000
"""In a barrier: with more threads than cores the one that is missing needs a core. One
that parked there would be missed for half a millisecond after it could go on."""

PAUSE = {
    "x86_64": "call void @llvm.x86.sse2.pause()",
    "aarch64": "call void @llvm.aarch64.hint(i32 1)",
}
PAUSE_DECLARATION = {
    "x86_64": "declare void @llvm.x86.sse2.pause()",
    "aarch64": "declare void @llvm.aarch64.hint(i32)",
}
FUTEX_SYSCALL = {"x86_64": 202, "aarch64": 98}
FUTEX_WAIT_PRIVATE, FUTEX_WAKE_PRIVATE = 128, 129

FUTEX = """
declare i64 @syscall(i64, ...)
define private void @park(i32 %seen) {{
  %r = call i64 (i64, ...) @syscall(i64 {number}, ptr @word, i32 {wait}, i32 %seen,
                                    ptr null, ptr null, i32 0)
  ret void
}}
define private void @wake() {{
  %r = call i64 (i64, ...) @syscall(i64 {number}, ptr @word, i32 {wake},
                                    i32 2147483647, ptr null, ptr null, i32 0)
  ret void
}}
"""

POLLING = """
declare i32 @usleep(i32)
define private void @park(i32 %seen) {
  %r = call i32 @usleep(i32 200)
  ret void
}
define private void @wake() {
  ret void
}
"""
"""Where there is no futex a parked worker looks again every 0.2 ms."""

BARRIER = """
declare i32 @sched_yield()
{declaration}

; One look of a waiting thread: a pause, and the core to others after many looks.
define private void @relax(i32 %spins) {{
  {pause}
  %long = icmp ugt i32 %spins, {yielding}
  br i1 %long, label %yield, label %done
yield:
  %r = call i32 @sched_yield()
  br label %done
done:
  ret void
}}

; Waits until `place` is not `seen`.
define private void @wait_for_change(ptr %place, i32 %seen) {{
entry:
  br label %look
look:
  %spins = phi i32 [ 0, %entry ], [ %more, %again ]
  %value = load atomic i32, ptr %place acquire, align 4
  %changed = icmp ne i32 %value, %seen
  br i1 %changed, label %done, label %again
again:
  call void @relax(i32 %spins)
  %more = add i32 %spins, 1
  br label %look
done:
  ret void
}}

; state: [0] threads that have arrived, [4] phase
define void @glow_barrier(ptr %state, i64 %threads) {{
  %alone = icmp ule i64 %threads, 1
  br i1 %alone, label %done, label %arrive
arrive:
  %place = getelementptr i8, ptr %state, i64 4
  %phase = load atomic i32, ptr %place acquire, align 4
  %before = atomicrmw add ptr %state, i32 1 acq_rel
  %count = trunc i64 %threads to i32
  %arrived = add i32 %before, 1
  %last = icmp eq i32 %arrived, %count
  br i1 %last, label %open, label %wait
open:
  store atomic i32 0, ptr %state monotonic, align 4
  %next = add i32 %phase, 1
  store atomic i32 %next, ptr %place release, align 4
  ret void
wait:
  call void @wait_for_change(ptr %place, i32 %phase)
  br label %done
done:
  ret void
}}
"""

POOL = """
declare i32 @pthread_create(ptr, ptr, ptr, ptr)

@word = private global i32 0, align 64      ; generation << 8 | threads
@running = private global i32 0, align 64   ; workers still inside the program
@parked = private global i32 0, align 64    ; workers that sleep
@busy = private global i32 0, align 64
@callers = private global i32 0, align 4    ; calls that run
@workers = private global i64 0, align 64   ; worker threads that exist
@handle = private global i64 0, align 8
@barrier = private global [64 x i8] zeroinitializer, align 64
@program = private global ptr null, align 64
@constants = private global ptr null, align 8
@mutables = private global ptr null, align 8
@activations = private global ptr null, align 8

define private void @run_program(i64 %thread, i64 %threads) {{
  %program = load ptr, ptr @program
  %constants = load ptr, ptr @constants
  %mutables = load ptr, ptr @mutables
  %activations = load ptr, ptr @activations
  call void %program(ptr %constants, ptr %mutables, ptr %activations,
                     i64 %thread, i64 %threads, ptr @barrier)
  ret void
}}

define private ptr @worker(ptr %argument) {{
entry:
  %index = ptrtoint ptr %argument to i64
  br label %wait
wait:
  %seen = phi i32 [ 0, %entry ], [ %published, %join ], [ %published, %leave ]
  br label %look
look:
  %spins = phi i64 [ 0, %wait ], [ %more, %spin ], [ 0, %sleep ]
  %published = load atomic i32, ptr @word seq_cst, align 4
  %new = icmp ne i32 %published, %seen
  br i1 %new, label %join, label %idle
idle:
  %more = add i64 %spins, 1
  %tired = icmp ugt i64 %more, {spins}
  br i1 %tired, label %sleep, label %spin
spin:
  {pause}
  br label %look
sleep:
  %before = atomicrmw add ptr @parked, i32 1 seq_cst
  call void @park(i32 %seen)
  %after = atomicrmw sub ptr @parked, i32 1 seq_cst
  br label %look
join:
  %low = and i32 %published, 255
  %threads = zext i32 %low to i64
  %wanted = icmp ult i64 %index, %threads
  br i1 %wanted, label %leave, label %wait
leave:
  call void @run_measured(i64 %index, i64 %threads)
  %left = atomicrmw sub ptr @running, i32 1 release
  br label %wait
}}

; Makes sure of `wanted` workers; returns how many there are.
define private i64 @hire(i64 %wanted) {{
entry:
  %have = load i64, ptr @workers
  br label %check
check:
  %count = phi i64 [ %have, %entry ], [ %next, %hired ]
  %enough = icmp uge i64 %count, %wanted
  br i1 %enough, label %done, label %create
create:
  %next = add i64 %count, 1
  %argument = inttoptr i64 %next to ptr
  %error = call i32 @pthread_create(ptr @handle, ptr null, ptr @worker, ptr %argument)
  %failed = icmp ne i32 %error, 0
  br i1 %failed, label %done, label %hired
hired:
  store i64 %next, ptr @workers
  br label %check
done:
  %total = phi i64 [ %count, %check ], [ %count, %create ]
  %fewer = icmp ult i64 %total, %wanted
  %result = select i1 %fewer, i64 %total, i64 %wanted
  ret i64 %result
}}

; Runs program(constants, mutables, activations, thread, threads, barrier) on up to
; `wanted` threads; returns on how many.
define i64 @glow_run(ptr %program, ptr %constants, ptr %mutables, ptr %activations,
                     i64 %wanted) {{
entry:
  %others = atomicrmw add ptr @callers, i32 1 acq_rel
  %begin = call i64 @clock(i32 {wall})
  %share = call i64 @share(i64 %wanted, i32 %others, i64 %begin)
  %single = icmp ule i64 %share, 1
  br i1 %single, label %alone, label %lock
lock:
  %pair = cmpxchg ptr @busy, i32 0, i32 1 acq_rel monotonic
  %free = extractvalue {{ i32, i1 }} %pair, 1
  br i1 %free, label %publish, label %alone
alone:
  call void %program(ptr %constants, ptr %mutables, ptr %activations,
                     i64 0, i64 1, ptr @barrier)
  br label %return
publish:
  %helping = sub i64 %share, 1
  %helpers = call i64 @hire(i64 %helping)
  %threads = add i64 %helpers, 1
  store ptr %program, ptr @program
  store ptr %constants, ptr @constants
  store ptr %mutables, ptr @mutables
  store ptr %activations, ptr @activations
  %helpers32 = trunc i64 %helpers to i32
  store atomic i32 %helpers32, ptr @running seq_cst, align 4
  %old = load atomic i32, ptr @word monotonic, align 4
  %stepped = add i32 %old, 256
  %generation = and i32 %stepped, -256
  %threads32 = trunc i64 %threads to i32
  %new = or i32 %generation, %threads32
  store atomic i32 %new, ptr @word seq_cst, align 4
  %asleep = load atomic i32, ptr @parked seq_cst, align 4
  %any = icmp ne i32 %asleep, 0
  br i1 %any, label %rouse, label %work
rouse:
  call void @wake()
  br label %work
work:
  call void @run_measured(i64 0, i64 %threads)
  br label %wait
wait:
  %left = load atomic i32, ptr @running acquire, align 4
  %finished = icmp eq i32 %left, 0
  br i1 %finished, label %done, label %again
again:
  call void @wait_for_change(ptr @running, i32 %left)
  br label %wait
done:
  call void @judge(i64 %begin)
  store atomic i32 0, ptr @busy release, align 4
  br label %return
return:
  %used = phi i64 [ 1, %alone ], [ %threads, %done ]
  %remaining = atomicrmw sub ptr @callers, i32 1 release
  ret i64 %used
}}
"""


def architecture(target: Target) -> str:
    """Returns the architecture of a target as this module's tables name it."""
    name = target.triple.split("-")[0]
    return {"arm64": "aarch64"}.get(name, name)


def parking_code(target: Target) -> str:
    """Returns the LLVM IR that parks and wakes threads on the target's system."""
    machine = architecture(target)
    if "linux" not in target.triple or machine not in FUTEX_SYSCALL:
        return POLLING
    return FUTEX.format(
        number=FUTEX_SYSCALL[machine], wait=FUTEX_WAIT_PRIVATE, wake=FUTEX_WAKE_PRIVATE
    )


def pause(target: Target) -> dict[str, str]:
    """Returns the instruction for a waiting thread, and its declaration."""
    machine = architecture(target)
    return {
        "pause": PAUSE.get(machine, ""),
        "declaration": PAUSE_DECLARATION.get(machine, ""),
    }


def barrier_code(target: Target) -> str:
    """Returns the LLVM IR of `glow_barrier`, which ahead-of-time code links too."""
    return BARRIER.format(yielding=SPINS_BEFORE_YIELDING, **pause(target))


def pool_code(target: Target) -> str:
    """Returns the LLVM IR of the pool and the barrier."""
    wall, _ = clocks(target)
    pool = POOL.format(spins=SPINS_BEFORE_PARKING, wall=wall, **pause(target))
    return barrier_code(target) + parking_code(target) + pool + crowding_code(target)


_pools: list[ThreadPool] = []
"""All pools ever made, which keeps their code: programs are linked to its barrier."""


class ThreadPool:
    """Worker threads that run native programs; made by `thread_pool()`."""

    def __init__(self, image: bytes) -> None:
        """`image` is the object of `pool_code`."""
        self._library = Library([image], ["glow_run", "glow_barrier"])
        pointer, count = ctypes.c_void_p, ctypes.c_int64
        prototype = ctypes.CFUNCTYPE(count, pointer, pointer, pointer, pointer, count)
        self._run = prototype(self._library.address("glow_run"))
        self.barrier_address: int = self._library.address("glow_barrier")
        _pools.append(self)

    def run(
        self,
        program: int,
        constants: int,
        mutables: int,
        activations: int,
        threads: int,
    ) -> int:
        """Runs the native function at address `program` once on every thread.

        The other arguments are the addresses that it gets, `threads` the number of
        threads wanted. Returns the number used, which is less while others need cores.
        """
        wanted = min(max(threads, 1), MAX_THREADS)
        return self._run(program, constants, mutables, activations, wanted)


_creation = threading.Lock()
_only_pool: ThreadPool | None = None


def thread_pool() -> ThreadPool:
    """Returns the pool of this process; workers start with the first call for them."""
    return _only_pool or _new_pool()


def _new_pool() -> ThreadPool:
    global _only_pool
    with _creation:
        if _only_pool is None:
            _only_pool = ThreadPool(runtime_object("thread pool", pool_code))
        return _only_pool


def _forget_pool() -> None:
    global _creation, _only_pool
    _creation = threading.Lock()
    _only_pool = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)
