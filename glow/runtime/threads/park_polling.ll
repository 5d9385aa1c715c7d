; Parking where there is no futex: a parked worker looks again every 0.2 ms.

declare i32 @usleep(i32)

define private void @park(i32 %seen) {
  %r = call i32 @usleep(i32 200)
  ret void
}

define private void @wake() {
  ret void
}
