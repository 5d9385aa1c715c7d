// RUN: glow-reduce --test=%S/inputs/has_tanh.sh %s | filecheck %s

// Instructions go one by one, and so do allocations that nothing uses then.
// CHECK-LABEL: func.func @main(
// CHECK-NEXT: instr.tanh @out %{{.*}}, @in %{{.*}}
// CHECK-NEXT: func.return
func.func @main(%x: memref<4xf32>, %y: memref<4xf32>) attributes {glow.input_count = 1 : i64} {
  %a = instr.alloc : memref<4xf32>
  instr.relu @out %a, @in %x
  instr.tanh @out %y, @in %a
  instr.dealloc %a
  func.return
}
