// RUN: glow-opt --instr-to-loops='target=avx512' --verify-loops %s | filecheck %s

// A barrier stands between calls that depend on each other, and none between those that do not.
// CHECK-LABEL: func.func @columns(
// CHECK:        func.call @softmax_
// CHECK-NEXT:   func.call @softmax_
// CHECK-NEXT:   func.call @glow_barrier(%barrier, %threads)
// CHECK-NEXT:   func.call @softmax_
// CHECK-NEXT:   func.return
func.func @columns(%x: memref<64x128xf32>, %y: memref<64x128xf32>, %z: memref<64x128xf32>) attributes {glow.arena_bytes = 0 : i64} {
  instr.softmax @out %y, @in %x axis 0
  instr.softmax @out %z, @in %x axis 0
  instr.softmax @out %x, @in %y axis 1
  func.return
}

// Where both calls cut their buffers by rows, each thread reads the rows that it wrote: if
// threads divide the rows, the barrier is for one, which does not wait. Those that do not divide
// them have met once and need not again.
// CHECK-LABEL: func.func @rows(
// CHECK:        %[[ROWS:.*]] = arith.constant 64 : index
// CHECK:        %[[SHARE:.*]] = arith.divui %[[ROWS]], %threads : index
// CHECK-NEXT:   %[[SHARED:.*]] = arith.muli %[[SHARE]], %threads : index
// CHECK-NEXT:   %[[EVEN:.*]] = arith.cmpi eq, %[[SHARED]], %[[ROWS]] : index
// CHECK:        %[[MEET:.*]] = arith.select %[[EVEN]], %{{.*}}, %threads : index
// CHECK:        func.call @softmax_
// CHECK-NEXT:   func.call @glow_barrier(%barrier, %[[MEET]])
// CHECK-NEXT:   func.call @softmax_
// CHECK-NEXT:   func.call @softmax_
// CHECK-NEXT:   func.call @glow_barrier(%barrier, %[[MEET]])
// CHECK-NEXT:   func.call @softmax_
// CHECK-NEXT:   func.call @glow_barrier(%barrier, %threads)
// CHECK-NEXT:   func.call @softmax_
// CHECK-NEXT:   func.return
func.func @rows(%x: memref<64x128xf32>, %y: memref<64x128xf32>, %z: memref<64x128xf32>, %w: memref<64x128xf32>) attributes {glow.arena_bytes = 0 : i64} {
  instr.softmax @out %y, @in %x axis 1
  instr.softmax @out %z, @in %y axis 1
  instr.softmax @out %w, @in %y axis 1
  instr.softmax @out %x, @in %w axis 1
  instr.softmax @out %x, @in %z axis 0
  func.return
}

// Threads that divide 96 but not 48, such as 32, did not wait at the first barrier.
// CHECK-LABEL: func.func @parts(
// CHECK:        %[[ROWS:.*]] = arith.constant 96 : index
// CHECK:        arith.cmpi eq, %{{.*}}, %[[ROWS]] : index
// CHECK-NEXT:   %[[MEET_ROWS:.*]] = arith.select
// CHECK:        %[[HALF:.*]] = arith.constant 48 : index
// CHECK:        arith.cmpi eq, %{{.*}}, %[[HALF]] : index
// CHECK-NEXT:   %[[MEET_HALF:.*]] = arith.select
// CHECK:        func.call @softmax_
// CHECK-NEXT:   func.call @glow_barrier(%barrier, %[[MEET_ROWS]])
// CHECK-NEXT:   func.call @softmax_
// CHECK-NEXT:   func.call @glow_barrier(%barrier, %[[MEET_HALF]])
// CHECK-NEXT:   func.call @softmax_
// CHECK-NEXT:   func.return
func.func @parts(%x: memref<96x128xf32>, %y: memref<96x128xf32>, %z: memref<96x128xf32>, %w: memref<48x256xf32>) attributes {glow.arena_bytes = 0 : i64} {
  %v = instr.tensorview %y : memref<48x256xf32>
  instr.softmax @out %y, @in %x axis 1
  instr.softmax @out %z, @in %y axis 1
  instr.softmax @out %w, @in %v axis 1
  func.return
}

// Threads that do not divide 48 met; those that do divide 96 too, and read what they wrote.
// CHECK-LABEL: func.func @fewer(
// CHECK:        func.call @softmax_
// CHECK-NEXT:   func.call @glow_barrier(
// CHECK-NEXT:   func.call @softmax_
// CHECK-NEXT:   func.call @softmax_
// CHECK-NEXT:   func.return
func.func @fewer(%x: memref<96x128xf32>, %y: memref<96x128xf32>, %z: memref<96x128xf32>, %w: memref<48x256xf32>) attributes {glow.arena_bytes = 0 : i64} {
  %v = instr.tensorview %y : memref<48x256xf32>
  instr.softmax @out %y, @in %x axis 1
  instr.softmax @out %w, @in %v axis 1
  instr.softmax @out %z, @in %y axis 1
  func.return
}

// Calls on little memory are left to one thread, which does not wait for itself.
// CHECK-LABEL: func.func @little(
// CHECK:        func.call @softmax_
// CHECK-NEXT:   func.call @softmax_
// CHECK-NEXT:   func.return
func.func @little(%x: memref<8x16xf32>, %y: memref<8x16xf32>, %z: memref<8x16xf32>) attributes {glow.arena_bytes = 0 : i64} {
  instr.softmax @out %y, @in %x axis 1
  instr.softmax @out %z, @in %y axis 1
  func.return
}

// All wait for what one thread has made of a little part, and it for what all have read.
// CHECK-LABEL: func.func @part(
// CHECK:        func.call @softmax_
// CHECK-NEXT:   func.call @glow_barrier(%barrier, %threads)
// CHECK-NEXT:   func.call @softmax_
// CHECK-NEXT:   func.call @glow_barrier(%barrier, %threads)
// CHECK-NEXT:   func.call @softmax_
// CHECK-NEXT:   func.return
func.func @part(%x: memref<8x16xf32>, %y: memref<64x128xf32>, %z: memref<64x128xf32>) attributes {glow.arena_bytes = 0 : i64} {
  %v = instr.tensorview %y : memref<8x16xf32>
  instr.softmax @out %v, @in %x axis 1
  instr.softmax @out %z, @in %y axis 1
  instr.softmax @out %v, @in %x axis 1
  func.return
}
