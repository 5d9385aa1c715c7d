; Threads of a call on cores of their own, by Linux's sched.h.
;
; Where all cores are busy the system may wake a worker on the core of its caller, since there
; it need not wait for another process. Then both take turns at each barrier, and a call is
; over before the system would move one of them. So each thread of a call claims its core; one
; that finds it claimed moves to a core that nobody has claimed, and may then run wherever it
; might before. Where there is no such core it stays.
;
; Memory model: `@claimed` is a hint, so it is monotonic. Cores from 64 on are not watched.

declare i32 @sched_getcpu()
declare i32 @sched_getaffinity(i32, i64, ptr)
declare i32 @sched_setaffinity(i32, i64, ptr)

@claimed = private global i64 0, align 64    ; a bit for each core that a thread has

; The bit of the core that this thread runs on.
define private i64 @core_bit() {
  %core = call i32 @sched_getcpu()
  %index = zext i32 %core to i64
  %watched = icmp ult i64 %index, 64
  %bit = shl i64 1, %index
  %result = select i1 %watched, i64 %bit, i64 0
  ret i64 %result
}

; Claims the caller's core, before any worker does.
define private void @claim_first_core() {
  %bit = call i64 @core_bit()
  store atomic i64 %bit, ptr @claimed monotonic, align 8
  ret void
}

; Claims a worker's core, or moves to one that it may claim.
define private void @claim_core() {
entry:
  %allowed = alloca [16 x i64]               ; a cpu_set_t
  %free = alloca [16 x i64]
  %bit = call i64 @core_bit()
  %claimed = atomicrmw or ptr @claimed, i64 %bit monotonic
  %both = and i64 %claimed, %bit
  %shared = icmp ne i64 %both, 0
  br i1 %shared, label %look, label %done
look:
  %failed = call i32 @sched_getaffinity(i32 0, i64 128, ptr %allowed)
  %known = icmp eq i32 %failed, 0
  br i1 %known, label %move, label %done
move:
  call void @llvm.memcpy.p0.p0.i64(ptr %free, ptr %allowed, i64 128, i1 false)
  %first = load i64, ptr %allowed
  %others = xor i64 %claimed, -1
  %unclaimed = and i64 %first, %others
  store i64 %unclaimed, ptr %free
  %r = call i32 @sched_setaffinity(i32 0, i64 128, ptr %free)   ; an error if none is free
  %s = call i32 @sched_setaffinity(i32 0, i64 128, ptr %allowed)
  %new = call i64 @core_bit()
  %t = atomicrmw or ptr @claimed, i64 %new monotonic
  br label %done
done:
  ret void
}

declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
