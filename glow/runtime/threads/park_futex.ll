; Parking on Linux: the system compares `@word` with what the worker has seen, and lets it
; sleep only if they are the same (pool.ll). `@futex_number` is the architecture's.

declare i64 @syscall(i64, ...)

@futex_wait_private = private constant i32 128
@futex_wake_private = private constant i32 129

define private void @park(i32 %seen) {
  %number = load i64, ptr @futex_number
  %wait = load i32, ptr @futex_wait_private
  %r = call i64 (i64, ...) @syscall(i64 %number, ptr @word, i32 %wait, i32 %seen,
                                    ptr null, ptr null, i32 0)
  ret void
}

define private void @wake() {
  %number = load i64, ptr @futex_number
  %wake = load i32, ptr @futex_wake_private
  %r = call i64 (i64, ...) @syscall(i64 %number, ptr @word, i32 %wake,
                                    i32 2147483647, ptr null, ptr null, i32 0)
  ret void
}
