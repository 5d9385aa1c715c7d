; `glow_tick`, which generated code calls to note the time. Each thread has a trace of its
; own, so that nothing is atomic: 64-bit integers, how many times it holds, then these.

define void @glow_tick(ptr %trace) nounwind {
  %time = call i64 @wall_time()
  %count = load i64, ptr %trace
  %next = add i64 %count, 1
  %place = getelementptr i64, ptr %trace, i64 %next
  store i64 %time, ptr %place
  store i64 %next, ptr %trace
  ret void
}
