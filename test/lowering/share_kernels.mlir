// RUN: glow-opt --share-kernels='target=avx512' %s | filecheck %s
// RUN: glow-opt --share-kernels='target=avx512' %s | glow-opt --glow-to-instr --plan-memory --instr-to-loops='target=avx512' | filecheck %s --check-prefix LOOPS
// RUN: glow-opt --share-kernels='target=cortex-m4' %s | filecheck %s --check-prefix SMALL

// Two layers differ in a number and in the byte that would pad them: one kernel for both. Bounds
// in front of conversions stay, since these need not saturate then.
// CHECK-LABEL: func.func @numbers(
// CHECK: %[[A:.*]] = glow.constant dense<1.000000e+01> : tensor<1xf32>
// CHECK: %[[Y:.*]] = cpu.int8_conv2d %x, %w, %b, %s, %[[A]] input_channels 16 output_channels 16 zero_point 3 kernel [1, 1] {
// CHECK-NEXT: ^bb0(%{{.*}}: i32, %{{.*}}: f32, %[[N:.*]]: f32):
// CHECK: arith.addf %{{.*}}, %[[N]] : f32
// CHECK-NEXT: arith.constant 2.550000e+02 : f32
// CHECK: %[[B:.*]] = glow.constant dense<2.000000e+01> : tensor<1xf32>
// CHECK: cpu.int8_conv2d %[[Y]], %w, %b, %s, %[[B]] input_channels 16 output_channels 16 kernel [1, 1] {
// LOOPS-COUNT-1: func.func private @int8_conv2d
// LOOPS-NOT: func.func private @int8_conv2d
// SMALL-NOT: tensor<1xf32>
func.func @numbers(%x: tensor<1x1x4x4x16xui8>) -> tensor<1x1x4x4x16xui8> {
  %w = glow.constant dense<1> : tensor<256xi8>
  %b = glow.constant dense<2> : tensor<1x16xi32>
  %s = glow.constant dense<0.5> : tensor<1x1x1x1x16xf32>
  %0 = cpu.int8_conv2d %x, %w, %b, %s input_channels 16 output_channels 16 zero_point 3 kernel [1, 1] {
  ^bb0(%a: i32, %f: f32):
    %1 = arith.sitofp %a : i32 to f32
    %2 = arith.mulf %1, %f : f32
    %3 = arith.constant 10.0 : f32
    %4 = arith.addf %2, %3 : f32
    %5 = arith.constant 255.0 : f32
    %6 = arith.minimumf %4, %5 : f32
    %7 = arith.fptosi %6 : f32 to i32
    %bits8 = arith.trunci %7 : i32 to i8
    %8 = builtin.unrealized_conversion_cast %bits8 : i8 to ui8
    glow.yield %8
  } : tensor<1x1x4x4x16xui8>
  %9 = cpu.int8_conv2d %0, %w, %b, %s input_channels 16 output_channels 16 kernel [1, 1] {
  ^bb0(%a: i32, %f: f32):
    %1 = arith.sitofp %a : i32 to f32
    %2 = arith.mulf %1, %f : f32
    %3 = arith.constant 20.0 : f32
    %4 = arith.addf %2, %3 : f32
    %5 = arith.constant 255.0 : f32
    %6 = arith.minimumf %4, %5 : f32
    %7 = arith.fptosi %6 : f32 to i32
    %bits8 = arith.trunci %7 : i32 to i8
    %8 = builtin.unrealized_conversion_cast %bits8 : i8 to ui8
    glow.yield %8
  } : tensor<1x1x4x4x16xui8>
  func.return %9 : tensor<1x1x4x4x16xui8>
}

// CHECK-LABEL: func.func @bounds(
// CHECK-NOT: tensor<1xf32>
func.func @bounds(%x: tensor<1x4xui8>) -> (tensor<1x16xui8>, tensor<1x16xui8>) {
  %w = glow.constant dense<1> : tensor<64xi8>
  %b = glow.constant dense<2> : tensor<16xi32>
  %0 = cpu.int8_matmul %x, %w, %b {
  ^bb0(%a: i32):
    %1 = arith.sitofp %a : i32 to f32
    %2 = arith.constant 3.0 : f32
    %3 = arith.minimumf %1, %2 : f32
    %4 = math.roundeven %3 : f32
    %5 = arith.fptosi %4 : f32 to i32
    %bits6 = arith.trunci %5 : i32 to i8
    %6 = builtin.unrealized_conversion_cast %bits6 : i8 to ui8
    glow.yield %6
  } : tensor<1x16xui8>
  %7 = cpu.int8_matmul %x, %w, %b {
  ^bb0(%a: i32):
    %1 = arith.sitofp %a : i32 to f32
    %2 = arith.constant 4.0 : f32
    %3 = arith.minimumf %1, %2 : f32
    %4 = math.roundeven %3 : f32
    %5 = arith.fptosi %4 : f32 to i32
    %bits6 = arith.trunci %5 : i32 to i8
    %6 = builtin.unrealized_conversion_cast %bits6 : i8 to ui8
    glow.yield %6
  } : tensor<1x16xui8>
  func.return %0, %7 : tensor<1x16xui8>, tensor<1x16xui8>
}

// Other shapes are other kernels.
// CHECK-LABEL: func.func @others(
// CHECK-NOT: tensor<1xf32>
func.func @others(%x: tensor<1x4xui8>, %y: tensor<2x4xui8>) -> (tensor<1x16xf32>, tensor<2x16xf32>) {
  %w = glow.constant dense<1> : tensor<64xi8>
  %b = glow.constant dense<2> : tensor<16xi32>
  %0 = cpu.int8_matmul %x, %w, %b {
  ^bb0(%a: i32):
    %1 = arith.sitofp %a : i32 to f32
    %2 = arith.constant 0.5 : f32
    %3 = arith.mulf %1, %2 : f32
    glow.yield %3
  } : tensor<1x16xf32>
  %4 = cpu.int8_matmul %y, %w, %b {
  ^bb0(%a: i32):
    %1 = arith.sitofp %a : i32 to f32
    %2 = arith.constant 0.25 : f32
    %3 = arith.mulf %1, %2 : f32
    glow.yield %3
  } : tensor<2x16xf32>
  func.return %0, %4 : tensor<1x16xf32>, tensor<2x16xf32>
}
