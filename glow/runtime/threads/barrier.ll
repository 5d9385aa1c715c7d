; `glow_barrier`, which generated code calls between kernels that depend on each other.
;
; Memory model: whoever arrives adds one to the count (acq_rel), so the last to arrive has
; seen what all others stored before. It sets the count back (monotonic: the release that
; follows orders it) and steps the phase (release); the others leave when they load another
; phase (acquire), and then see what everybody stored. The phase is loaded before arriving:
; nobody can step it until this thread has arrived. `@pause` is the architecture's.

declare i32 @sched_yield()

; `@looks_before_yielding` is the machine's (`thread_pool.py`): then a waiting thread gives its
; core to others. With more threads than cores the one that is missing needs a core. One that
; slept here would be missed for half a millisecond after it could go on.

; One look of a waiting thread: a pause, and the core to others after many looks.
define private void @relax(i32 %spins) {
  call void @pause()
  %limit = load i32, ptr @looks_before_yielding
  %long = icmp ugt i32 %spins, %limit
  br i1 %long, label %yield, label %done
yield:
  %r = call i32 @sched_yield()
  br label %done
done:
  ret void
}

; Waits until `place` is not `seen`.
define private void @wait_for_change(ptr %place, i32 %seen) {
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
}

; state: [0] threads that have arrived, [4] phase
define void @glow_barrier(ptr %state, i64 %threads) {
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
}
