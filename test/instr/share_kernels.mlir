// RUN: glow-opt --share-kernels='target=avx512' %s | filecheck %s
// RUN: glow-opt --share-kernels='target=avx512' %s | glow-opt --instr-to-loops='target=avx512' | filecheck %s --check-prefix LOOPS
// RUN: glow-opt --share-kernels='target=cortex-m4' %s | filecheck %s --check-prefix KEPT

// Two layers differ in a number, in bounds and in the byte that would pad them: one kernel for
// both. What is the same in both stays. A bound is 16 bits in memory, and converted in the kernel.
// CHECK-LABEL: func.func @numbers(
// CHECK-DAG: %[[A:.*]] = instr.weight dense<1.000000e+01> : tensor<1xf32> : memref<1xf32>
// CHECK-DAG: %[[B:.*]] = instr.weight dense<2.000000e+01> : tensor<1xf32> : memref<1xf32>
// CHECK-DAG: %[[C:.*]] = instr.weight dense<-3> : tensor<1xi16> : memref<1xi16>
// CHECK-DAG: %[[D:.*]] = instr.weight dense<-4> : tensor<1xi16> : memref<1xi16>
// CHECK: instr.cpu.int8_conv2d @out %[[Y:.*]], @in %x, @in %w, @in %b, @in %s, @in %[[A]], @in %[[C]] input_channels 16 output_channels 16 zero_point 3 kernel [1, 1] {
// CHECK-NEXT: ^bb0(%{{.*}}: i32, %{{.*}}: f32, %[[N:.*]]: f32, %[[M:.*]]: i16):
// CHECK-NEXT: %[[BOUND:.*]] = arith.sitofp %[[M]] : i16 to f32
// CHECK: arith.addf %{{.*}}, %[[N]] : f32
// CHECK-NEXT: arith.maximumf %{{.*}}, %[[BOUND]] : f32
// CHECK-NEXT: arith.constant 2.520000e+02 : f32
// CHECK: instr.cpu.int8_conv2d @out %{{.*}}, @in %[[Y]], @in %w, @in %b, @in %s, @in %[[B]], @in %[[D]] input_channels 16 output_channels 16 kernel [1, 1] {
// LOOPS-COUNT-1: func.func private @int8_conv2d
// LOOPS-NOT: func.func private @int8_conv2d
// KEPT-NOT: memref<1xf32>
func.func @numbers(%x: memref<1x1x4x4x16xui8>, %y: memref<1x1x4x4x16xui8>) attributes {glow.input_count = 1 : i64, glow.arena_bytes = 256 : i64} {
  %w = instr.weight dense<1> : tensor<256xi8> : memref<256xi8>
  %b = instr.weight dense<2> : tensor<1x16xi32> : memref<1x16xi32>
  %s = instr.weight dense<0.5> : tensor<1x1x1x1x16xf32> : memref<1x1x1x1x16xf32>
  %0 = instr.alloc offset 0 : memref<1x1x4x4x16xui8>
  instr.cpu.int8_conv2d @out %0, @in %x, @in %w, @in %b, @in %s input_channels 16 output_channels 16 zero_point 3 kernel [1, 1] {
  ^bb0(%a: i32, %f: f32):
    %1 = arith.sitofp %a : i32 to f32
    %2 = arith.mulf %1, %f : f32
    %3 = arith.constant 10.0 : f32
    %4 = arith.addf %2, %3 : f32
    %low = arith.constant -3.0 : f32
    %more = arith.maximumf %4, %low : f32
    %5 = arith.constant 252.0 : f32
    %6 = arith.minimumf %more, %5 : f32
    %7 = arith.fptosi %6 : f32 to i32
    %bits8 = arith.trunci %7 : i32 to i8
    %8 = builtin.unrealized_conversion_cast %bits8 : i8 to ui8
    glow.yield %8
  }
  instr.cpu.int8_conv2d @out %y, @in %0, @in %w, @in %b, @in %s input_channels 16 output_channels 16 kernel [1, 1] {
  ^bb0(%a: i32, %f: f32):
    %1 = arith.sitofp %a : i32 to f32
    %2 = arith.mulf %1, %f : f32
    %3 = arith.constant 20.0 : f32
    %4 = arith.addf %2, %3 : f32
    %low = arith.constant -4.0 : f32
    %more = arith.maximumf %4, %low : f32
    %5 = arith.constant 252.0 : f32
    %6 = arith.minimumf %more, %5 : f32
    %7 = arith.fptosi %6 : f32 to i32
    %bits8 = arith.trunci %7 : i32 to i8
    %8 = builtin.unrealized_conversion_cast %bits8 : i8 to ui8
    glow.yield %8
  }
  instr.dealloc %0
  func.return
}

// Stacks share kernels too. The same number in two places is one operand, and equal numbers of
// several stacks are one weight.
// CHECK-LABEL: func.func @stacks(
// CHECK-DAG: %[[A:.*]] = instr.weight dense<5.000000e-01> : tensor<1xf32> : memref<1xf32>
// CHECK-DAG: %[[B:.*]] = instr.weight dense<2.500000e-01> : tensor<1xf32> : memref<1xf32>
// CHECK: instr.stacked @out %y, @in %x, @in %[[A]] {
// CHECK-NEXT: ^bb0(%[[X:.*]]: f32, %[[N:.*]]: f32):
// CHECK-NEXT: arith.mulf %[[X]], %[[N]] : f32
// CHECK-NEXT: arith.addf %{{.*}}, %[[N]] : f32
// CHECK: instr.stacked @out %z, @in %x, @in %[[B]] {
// CHECK: instr.stacked @out %v, @in %x, @in %[[A]] {
func.func @stacks(%x: memref<8xf32>, %y: memref<8xf32>, %z: memref<8xf32>, %v: memref<8xf32>) attributes {glow.input_count = 1 : i64, glow.arena_bytes = 0 : i64} {
  instr.stacked @out %y, @in %x {
  ^bb0(%a: f32):
    %0 = arith.constant 0.5 : f32
    %1 = arith.mulf %a, %0 : f32
    %2 = arith.constant 0.5 : f32
    %3 = arith.addf %1, %2 : f32
    glow.yield %3
  }
  instr.stacked @out %z, @in %x {
  ^bb0(%a: f32):
    %0 = arith.constant 0.25 : f32
    %1 = arith.mulf %a, %0 : f32
    %2 = arith.constant 0.25 : f32
    %3 = arith.addf %1, %2 : f32
    glow.yield %3
  }
  instr.stacked @out %v, @in %x {
  ^bb0(%a: f32):
    %0 = arith.constant 0.5 : f32
    %1 = arith.mulf %a, %0 : f32
    %2 = arith.constant 0.5 : f32
    %3 = arith.addf %1, %2 : f32
    glow.yield %3
  }
  func.return
}

// These stay as they are: bounds that are no whole numbers, bounds that would have another sign of
// zero, exponents, which choose how a power is computed, other shapes, and a stack alone.
// CHECK-LABEL: func.func @kept(
// CHECK-NOT: memref<1x
// CHECK-LABEL: func.func @many(
func.func @kept(%x: memref<8xf32>, %y: memref<8xf32>, %z: memref<8xf32>, %v: memref<4xf32>) attributes {glow.input_count = 1 : i64, glow.arena_bytes = 0 : i64} {
  %half = instr.weight dense<0.5> : tensor<4xf32> : memref<4xf32>
  instr.stacked @out %y, @in %x {
  ^bb0(%a: f32):
    %0 = arith.constant 0.5 : f32
    %1 = arith.maximumf %a, %0 : f32
    %2 = arith.constant 0.0 : f32
    %3 = arith.minimumf %1, %2 : f32
    %4 = arith.constant 3.0 : f32
    %5 = math.powf %3, %4 : f32
    glow.yield %5
  }
  instr.stacked @out %z, @in %x {
  ^bb0(%a: f32):
    %0 = arith.constant 0.25 : f32
    %1 = arith.maximumf %a, %0 : f32
    %2 = arith.constant -0.0 : f32
    %3 = arith.minimumf %1, %2 : f32
    %4 = arith.constant 2.0 : f32
    %5 = math.powf %3, %4 : f32
    glow.yield %5
  }
  instr.stacked @out %v, @in %half {
  ^bb0(%a: f32):
    %0 = arith.constant 0.25 : f32
    %1 = arith.mulf %a, %0 : f32
    glow.yield %1
  }
  func.return
}

// Products read five numbers as well.
// CHECK: instr.cpu.int8_matmul
// CHECK-NEXT: ^bb0(%{{.*}}: i32, %{{.*}}: f32, %{{.*}}: f32, %{{.*}}: f32, %{{.*}}: f32, %{{.*}}: f32):
func.func @many(%x: memref<1x4xui8>, %y: memref<1x16xf32>, %z: memref<1x16xf32>) attributes {glow.input_count = 1 : i64, glow.arena_bytes = 0 : i64} {
  %w = instr.weight dense<1> : tensor<64xi8> : memref<64xi8>
  %b = instr.weight dense<2> : tensor<16xi32> : memref<16xi32>
  instr.cpu.int8_matmul @out %y, @in %x, @in %w, @in %b {
  ^bb0(%a: i32):
    %0 = arith.sitofp %a : i32 to f32
    %c1 = arith.constant 1.0 : f32
    %1 = arith.addf %0, %c1 : f32
    %c2 = arith.constant 2.0 : f32
    %2 = arith.mulf %1, %c2 : f32
    %c3 = arith.constant 3.0 : f32
    %3 = arith.addf %2, %c3 : f32
    %c4 = arith.constant 4.0 : f32
    %4 = arith.mulf %3, %c4 : f32
    %c5 = arith.constant 5.0 : f32
    %5 = arith.addf %4, %c5 : f32
    glow.yield %5
  }
  instr.cpu.int8_matmul @out %z, @in %x, @in %w, @in %b {
  ^bb0(%a: i32):
    %0 = arith.sitofp %a : i32 to f32
    %c1 = arith.constant 11.0 : f32
    %1 = arith.addf %0, %c1 : f32
    %c2 = arith.constant 12.0 : f32
    %2 = arith.mulf %1, %c2 : f32
    %c3 = arith.constant 13.0 : f32
    %3 = arith.addf %2, %c3 : f32
    %c4 = arith.constant 14.0 : f32
    %4 = arith.mulf %3, %c4 : f32
    %c5 = arith.constant 15.0 : f32
    %5 = arith.addf %4, %c5 : f32
    glow.yield %5
  }
  func.return
}

// So do stacks.
// CHECK-LABEL: func.func @more(
// CHECK-COUNT-10: memref<1xf32>
// CHECK: ^bb0(%{{.*}}: f32, %{{.*}}: f32, %{{.*}}: f32, %{{.*}}: f32, %{{.*}}: f32, %{{.*}}: f32):
func.func @more(%x: memref<8xf32>, %y: memref<8xf32>, %z: memref<8xf32>) attributes {glow.input_count = 1 : i64, glow.arena_bytes = 0 : i64} {
  instr.stacked @out %y, @in %x {
  ^bb0(%a: f32):
    %c1 = arith.constant 1.0 : f32
    %1 = arith.addf %a, %c1 : f32
    %c2 = arith.constant 2.0 : f32
    %2 = arith.mulf %1, %c2 : f32
    %c3 = arith.constant 3.0 : f32
    %3 = arith.addf %2, %c3 : f32
    %c4 = arith.constant 4.0 : f32
    %4 = arith.mulf %3, %c4 : f32
    %c5 = arith.constant 5.0 : f32
    %5 = arith.addf %4, %c5 : f32
    glow.yield %5
  }
  instr.stacked @out %z, @in %x {
  ^bb0(%a: f32):
    %c1 = arith.constant 11.0 : f32
    %1 = arith.addf %a, %c1 : f32
    %c2 = arith.constant 12.0 : f32
    %2 = arith.mulf %1, %c2 : f32
    %c3 = arith.constant 13.0 : f32
    %3 = arith.addf %2, %c3 : f32
    %c4 = arith.constant 14.0 : f32
    %4 = arith.mulf %3, %c4 : f32
    %c5 = arith.constant 15.0 : f32
    %5 = arith.addf %4, %c5 : f32
    glow.yield %5
  }
  func.return
}

// No kernel reads more than 16.
// CHECK-LABEL: func.func @too_many(
// CHECK-NOT: memref<1xf32>
func.func @too_many(%x: memref<8xf32>, %y: memref<8xf32>, %z: memref<8xf32>) attributes {glow.input_count = 1 : i64, glow.arena_bytes = 0 : i64} {
  instr.stacked @out %y, @in %x {
  ^bb0(%a: f32):
    %c0 = arith.constant 1.0 : f32
    %0 = arith.addf %a, %c0 : f32
    %c1 = arith.constant 2.0 : f32
    %1 = arith.addf %0, %c1 : f32
    %c2 = arith.constant 3.0 : f32
    %2 = arith.addf %1, %c2 : f32
    %c3 = arith.constant 4.0 : f32
    %3 = arith.addf %2, %c3 : f32
    %c4 = arith.constant 5.0 : f32
    %4 = arith.addf %3, %c4 : f32
    %c5 = arith.constant 6.0 : f32
    %5 = arith.addf %4, %c5 : f32
    %c6 = arith.constant 7.0 : f32
    %6 = arith.addf %5, %c6 : f32
    %c7 = arith.constant 8.0 : f32
    %7 = arith.addf %6, %c7 : f32
    %c8 = arith.constant 9.0 : f32
    %8 = arith.addf %7, %c8 : f32
    %c9 = arith.constant 10.0 : f32
    %9 = arith.addf %8, %c9 : f32
    %c10 = arith.constant 11.0 : f32
    %10 = arith.addf %9, %c10 : f32
    %c11 = arith.constant 12.0 : f32
    %11 = arith.addf %10, %c11 : f32
    %c12 = arith.constant 13.0 : f32
    %12 = arith.addf %11, %c12 : f32
    %c13 = arith.constant 14.0 : f32
    %13 = arith.addf %12, %c13 : f32
    %c14 = arith.constant 15.0 : f32
    %14 = arith.addf %13, %c14 : f32
    %c15 = arith.constant 16.0 : f32
    %15 = arith.addf %14, %c15 : f32
    %c16 = arith.constant 17.0 : f32
    %16 = arith.addf %15, %c16 : f32
    glow.yield %16
  }
  instr.stacked @out %z, @in %x {
  ^bb0(%a: f32):
    %c0 = arith.constant 31.0 : f32
    %0 = arith.addf %a, %c0 : f32
    %c1 = arith.constant 32.0 : f32
    %1 = arith.addf %0, %c1 : f32
    %c2 = arith.constant 33.0 : f32
    %2 = arith.addf %1, %c2 : f32
    %c3 = arith.constant 34.0 : f32
    %3 = arith.addf %2, %c3 : f32
    %c4 = arith.constant 35.0 : f32
    %4 = arith.addf %3, %c4 : f32
    %c5 = arith.constant 36.0 : f32
    %5 = arith.addf %4, %c5 : f32
    %c6 = arith.constant 37.0 : f32
    %6 = arith.addf %5, %c6 : f32
    %c7 = arith.constant 38.0 : f32
    %7 = arith.addf %6, %c7 : f32
    %c8 = arith.constant 39.0 : f32
    %8 = arith.addf %7, %c8 : f32
    %c9 = arith.constant 40.0 : f32
    %9 = arith.addf %8, %c9 : f32
    %c10 = arith.constant 41.0 : f32
    %10 = arith.addf %9, %c10 : f32
    %c11 = arith.constant 42.0 : f32
    %11 = arith.addf %10, %c11 : f32
    %c12 = arith.constant 43.0 : f32
    %12 = arith.addf %11, %c12 : f32
    %c13 = arith.constant 44.0 : f32
    %13 = arith.addf %12, %c13 : f32
    %c14 = arith.constant 45.0 : f32
    %14 = arith.addf %13, %c14 : f32
    %c15 = arith.constant 46.0 : f32
    %15 = arith.addf %14, %c15 : f32
    %c16 = arith.constant 47.0 : f32
    %16 = arith.addf %15, %c16 : f32
    glow.yield %16
  }
  func.return
}
