; What the pool needs of x86-64.

declare void @llvm.x86.sse2.pause()

@futex_number = private constant i64 202    ; of Linux's system call

define private void @pause() {
  call void @llvm.x86.sse2.pause()
  ret void
}
