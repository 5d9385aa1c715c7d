; Threads of a call where a program cannot tell which core a thread runs on.

define private void @claim_first_core() {
  ret void
}

define private void @claim_core() {
  ret void
}
