; What the pool needs of AArch64.

declare void @llvm.aarch64.hint(i32)

@futex_number = private constant i64 98     ; of Linux's system call

define private void @pause() {
  call void @llvm.aarch64.hint(i32 1)       ; yield
  ret void
}
