// RUN: glow-opt --split-input-file --verify-diagnostics %s

func.func @undefined(%x: i32) -> i32 {
  // expected-error @+1 {{use of undefined value %z}}
  %y = arith.addi %x, %z : i32
  func.return %y : i32
}

// -----

func.func @result(%x: i32) -> i64 {
  // expected-error @below {{expected [i64], got [i32]}}
  func.return %x : i32
}

// -----

func.func @valid() {
  func.return
}
