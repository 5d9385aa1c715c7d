; How many threads a call gets: fewer while others need the cores (contention backoff).
;
; Threads that share a kernel wait for the slowest. Where another process, or another call
; of this one, has one of the cores, a call on all threads waits for whole time slices of
; the scheduler; half of the threads are done sooner. So each thread measures for how long
; it was kept from running, and after calls that lost a quarter of their time the next ones
; get half of the threads, for a while that doubles as long as it does not help to retry.
; One slow call among fast ones is less than that: the time of some 20 ms of calls counts, of
; which the older ones fade. A call that retries decides alone, for what came before it is
; then set to a quarter. Results do not depend on the number of threads.
;
; Memory model: these are hints. `@until` and `@lost` are touched by many threads at once,
; so they are atomic, but monotonic, since nothing else is ordered by them. The other
; variables belong to the call that holds `@busy` (pool.ll), whose acquire and release
; order them. `@run_program` is the pool's; the clocks are in clock.ll.

@shortest_backoff = private constant i64 20000000    ; nanoseconds with fewer threads
@longest_backoff = private constant i64 200000000
@longest_memory = private constant i64 32000000      ; nanoseconds of calls, then halved

@until = private global i64 0, align 64              ; calls get fewer threads before
@backoff = private global i64 0, align 8             ; the next one; at least the shortest
@lost = private global i64 0, align 64               ; by all threads of this call
@recent_loss = private global i64 0, align 64        ; sums that are halved now and then
@recent_time = private global i64 0, align 8

; The threads of a call that begins at `now` beside `others`.
define private i64 @share(i64 %wanted, i32 %others, i64 %now) {
  %alone = icmp eq i32 %others, 0
  br i1 %alone, label %look, label %contended
contended:
  %shortest = load i64, ptr @shortest_backoff
  %end = add i64 %now, %shortest
  store atomic i64 %end, ptr @until monotonic, align 8
  br label %look
look:
  %until = load atomic i64, ptr @until monotonic, align 8
  %fewer = icmp slt i64 %now, %until
  %half = lshr i64 %wanted, 1
  %threads = select i1 %fewer, i64 %half, i64 %wanted
  ret i64 %threads
}

; One thread's part of a call, and for how long it did not run.
define private void @run_measured(i64 %thread, i64 %threads) {
  %begin = call i64 @wall_time()
  %idle = call i64 @thread_time()
  call void @run_program(i64 %thread, i64 %threads)
  %busy = call i64 @thread_time()
  %end = call i64 @wall_time()
  %passed = sub i64 %end, %begin
  %ran = sub i64 %busy, %idle
  %loss = sub i64 %passed, %ran
  %before = atomicrmw add ptr @lost, i64 %loss monotonic
  ret void
}

; Decides after a call of all threads what the next ones get.
define private void @judge(i64 %begin) {
  %now = call i64 @wall_time()
  %passed = sub i64 %now, %begin
  %loss = atomicrmw xchg ptr @lost, i64 0 monotonic
  %loss_before = load i64, ptr @recent_loss
  %time_before = load i64, ptr @recent_time
  %losses = add i64 %loss_before, %loss
  %times = add i64 %time_before, %passed
  %fourfold = shl i64 %losses, 2
  %contended = icmp sgt i64 %fourfold, %times
  %shortest = load i64, ptr @shortest_backoff
  %longest = load i64, ptr @longest_backoff
  %last = load i64, ptr @backoff
  %known = call i64 @llvm.smax.i64(i64 %last, i64 %shortest)
  br i1 %contended, label %back_off, label %done
back_off:
  %end = add i64 %now, %known
  store atomic i64 %end, ptr @until monotonic, align 8
  br label %done
done:
  %longer = shl i64 %known, 1
  %tenth = sdiv i64 %known, 10
  %shorter = sub i64 %known, %tenth
  %next = select i1 %contended, i64 %longer, i64 %shorter
  %limited = call i64 @llvm.smin.i64(i64 %next, i64 %longest)
  store i64 %limited, ptr @backoff
  %memory = load i64, ptr @longest_memory
  %is_long = icmp sgt i64 %times, %memory
  %halving = zext i1 %is_long to i64
  %next_times = ashr i64 %times, %halving
  %fewer_losses = ashr i64 %losses, %halving
  %quarter = ashr i64 %next_times, 2
  %next_losses = select i1 %contended, i64 %quarter, i64 %fewer_losses
  store i64 %next_losses, ptr @recent_loss
  store i64 %next_times, ptr @recent_time
  ret void
}

declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)
