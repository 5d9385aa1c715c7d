; What the pool needs of an architecture that it knows nothing of.

define private void @pause() {
  ret void
}
