"""How many threads a call gets: fewer while others need the cores.

Threads that share a kernel wait for the slowest. Where another process, or another call
of this one, has one of the cores, a call on all threads waits for whole time slices of
the scheduler; half of the threads are done sooner. So each thread measures for how long
it was kept from running, and after calls that lost a quarter of their time the next ones
get half of the threads, for a while that doubles as long as it does not help to retry.
Results do not depend on the number of threads.
"""

from __future__ import annotations

from glow.lowering.target.target import Target

SHORTEST_WHILE, LONGEST_WHILE = 20_000_000, 200_000_000
"""Nanoseconds with fewer threads: at first, and at most."""

CLOCKS = {"linux": (1, 3), "darwin": (6, 16)}
"""The C library's numbers of the monotonic clock and of the thread's own time."""

CROWDING = """
declare i32 @clock_gettime(i32, ptr)

@until = private global i64 0, align 64        ; calls get fewer threads before
@while = private global i64 {shortest}, align 8
@lost = private global i64 0, align 64         ; by all threads of this call
@recent_loss = private global i64 0, align 64  ; sums in which older calls count less
@recent_time = private global i64 0, align 8

define private i64 @clock(i32 %number) {{
  %now = alloca {{ i64, i64 }}
  %error = call i32 @clock_gettime(i32 %number, ptr %now)
  %place = getelementptr i8, ptr %now, i64 8
  %seconds = load i64, ptr %now
  %rest = load i64, ptr %place
  %whole = mul i64 %seconds, 1000000000
  %time = add i64 %whole, %rest
  ret i64 %time
}}

; The threads of a call that begins at `now` beside `others`.
define private i64 @share(i64 %wanted, i32 %others, i64 %now) {{
  %alone = icmp eq i32 %others, 0
  br i1 %alone, label %look, label %crowd
crowd:
  %end = add i64 %now, {shortest}
  store atomic i64 %end, ptr @until monotonic, align 8
  br label %look
look:
  %until = load atomic i64, ptr @until monotonic, align 8
  %crowded = icmp slt i64 %now, %until
  %half = lshr i64 %wanted, 1
  %threads = select i1 %crowded, i64 %half, i64 %wanted
  ret i64 %threads
}}

; One thread's part of a call, and for how long it did not run.
define private void @run_measured(i64 %thread, i64 %threads) {{
  %begin = call i64 @clock(i32 {wall})
  %idle = call i64 @clock(i32 {own})
  call void @run_program(i64 %thread, i64 %threads)
  %busy = call i64 @clock(i32 {own})
  %end = call i64 @clock(i32 {wall})
  %passed = sub i64 %end, %begin
  %ran = sub i64 %busy, %idle
  %loss = sub i64 %passed, %ran
  %before = atomicrmw add ptr @lost, i64 %loss monotonic
  ret void
}}

; Decides after a call of all threads what the next ones get.
define private void @judge(i64 %begin) {{
  %now = call i64 @clock(i32 {wall})
  %passed = sub i64 %now, %begin
  %loss = atomicrmw xchg ptr @lost, i64 0 monotonic
  %loss_before = load i64, ptr @recent_loss
  %time_before = load i64, ptr @recent_time
  %loss_part = ashr i64 %loss_before, 2
  %time_part = ashr i64 %time_before, 2
  %loss_kept = sub i64 %loss_before, %loss_part
  %time_kept = sub i64 %time_before, %time_part
  %losses = add i64 %loss_kept, %loss
  %times = add i64 %time_kept, %passed
  %fourfold = shl i64 %losses, 2
  %crowded = icmp sgt i64 %fourfold, %times
  %known = load i64, ptr @while
  br i1 %crowded, label %rest, label %done
rest:
  %end = add i64 %now, %known
  store atomic i64 %end, ptr @until monotonic, align 8
  br label %done
done:
  %longer = shl i64 %known, 1
  %tenth = sdiv i64 %known, 10
  %shorter = sub i64 %known, %tenth
  %wanted = select i1 %crowded, i64 %longer, i64 %shorter
  %at_least = call i64 @llvm.smax.i64(i64 %wanted, i64 {shortest})
  %while = call i64 @llvm.smin.i64(i64 %at_least, i64 {longest})
  store i64 %while, ptr @while
  %next_losses = select i1 %crowded, i64 0, i64 %losses
  %next_times = select i1 %crowded, i64 0, i64 %times
  store i64 %next_losses, ptr @recent_loss
  store i64 %next_times, ptr @recent_time
  ret void
}}

declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)
"""


def clocks(target: Target) -> tuple[int, int]:
    """Returns the numbers of the clocks on the target's system."""
    return CLOCKS["darwin" if "darwin" in target.triple else "linux"]


def crowding_code(target: Target) -> str:
    """Returns the LLVM IR of the functions above; they call `run_program`."""
    wall, own = clocks(target)
    return CROWDING.format(
        wall=wall, own=own, shortest=SHORTEST_WHILE, longest=LONGEST_WHILE
    )
