; A pool of worker threads; every worker runs the whole program of a call.
;
; A call publishes one 32-bit word, generation and thread count. Workers spin on it for a
; moment after each call and then park, since waking a parked thread costs half a
; millisecond and a spinning one 0.1 us. Parking is in park_futex.ll or park_polling.ll,
; `@pause` is the architecture's, `@share`, `@run_measured` and `@judge` are in
; contention.ll, `@claim_core` and `@claim_first_core` in cores_sched.ll or cores_unknown.ll.
;
; Memory model, by what each variable orders:
; - `@busy` is a lock: taken by cmpxchg (acq_rel), given back by a store (release). Its
;   holder alone writes `@workers`, the arguments of the program and `@word`.
; - `@word` publishes a call: the arguments are plain stores before a store of the word
;   (seq_cst, so a release too), and a worker reads them after it has loaded the word.
; - `@running` ends a call: each worker subtracts itself (release), the caller leaves when
;   it loads 0 (acquire), and then sees all that the workers stored.
; - `@parked` and `@word` keep a worker from sleeping through a call. A worker counts itself
;   in, then the system compares the word with the one it has seen; the caller stores the
;   word, then loads the count. All four are in the one total order of seq_cst, so either
;   the system sees the new word or the caller sees the sleeper and wakes it.
; - `@callers` only counts; acq_rel keeps a call's clock between its two ends.

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

define private void @run_program(i64 %thread, i64 %threads) {
  %program = load ptr, ptr @program
  %constants = load ptr, ptr @constants
  %mutables = load ptr, ptr @mutables
  %activations = load ptr, ptr @activations
  call void %program(ptr %constants, ptr %mutables, ptr %activations,
                     i64 %thread, i64 %threads, ptr @barrier)
  ret void
}

define private ptr @worker(ptr %argument) {
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
  %limit = load i64, ptr @spin_limit
  %exhausted = icmp ugt i64 %more, %limit
  br i1 %exhausted, label %sleep, label %spin
spin:
  call void @pause()
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
  call void @claim_core()
  call void @run_measured(i64 %index, i64 %threads)
  %left = atomicrmw sub ptr @running, i32 1 release
  br label %wait
}

; Makes sure of `wanted` workers; returns how many there are.
define private i64 @spawn(i64 %wanted) {
entry:
  %have = load i64, ptr @workers
  br label %check
check:
  %count = phi i64 [ %have, %entry ], [ %next, %spawned ]
  %enough = icmp uge i64 %count, %wanted
  br i1 %enough, label %done, label %create
create:
  %next = add i64 %count, 1
  %argument = inttoptr i64 %next to ptr
  %error = call i32 @pthread_create(ptr @handle, ptr null, ptr @worker, ptr %argument)
  %failed = icmp ne i32 %error, 0
  br i1 %failed, label %done, label %spawned
spawned:
  store i64 %next, ptr @workers
  br label %check
done:
  %total = phi i64 [ %count, %check ], [ %count, %create ]
  %fewer = icmp ult i64 %total, %wanted
  %result = select i1 %fewer, i64 %total, i64 %wanted
  ret i64 %result
}

; Runs program(constants, mutables, activations, thread, threads, barrier) on up to
; `wanted` threads; returns on how many.
define i64 @glow_run(ptr %program, ptr %constants, ptr %mutables, ptr %activations,
                     i64 %wanted) {
entry:
  %others = atomicrmw add ptr @callers, i32 1 acq_rel
  %begin = call i64 @wall_time()
  %share = call i64 @share(i64 %wanted, i32 %others, i64 %begin)
  %single = icmp ule i64 %share, 1
  br i1 %single, label %alone, label %lock
lock:
  %pair = cmpxchg ptr @busy, i32 0, i32 1 acq_rel monotonic
  %free = extractvalue { i32, i1 } %pair, 1
  br i1 %free, label %publish, label %alone
alone:
  call void %program(ptr %constants, ptr %mutables, ptr %activations,
                     i64 0, i64 1, ptr @barrier)
  br label %return
publish:
  %helping = sub i64 %share, 1
  %helpers = call i64 @spawn(i64 %helping)
  %threads = add i64 %helpers, 1
  store ptr %program, ptr @program
  store ptr %constants, ptr @constants
  store ptr %mutables, ptr @mutables
  store ptr %activations, ptr @activations
  call void @claim_first_core()
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
  br i1 %any, label %wake, label %work
wake:
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
}
