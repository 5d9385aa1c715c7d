// RUN: glow-opt --assign-layout='target=scalar' %s | filecheck %s

// Columns of the packed recurrence lie beside zeros; rows of it follow each other.
// CHECK-LABEL: func.func @reverse(
// CHECK-NEXT: %0 = glow.constant dense<[5.000000e-01, 5.000000e-01, 5.000000e-01, 0.000000e+00, 5.000000e-01, 5.000000e-01, 5.000000e-01, 0.000000e+00]> : tensor<8xf32>
// CHECK-NEXT: %1 = glow.constant dense<[1.000000e+00, 4.000000e+00, 7.000000e+00, 0.000000e+00, 2.000000e+00, 5.000000e+00, 8.000000e+00, 0.000000e+00, 3.000000e+00, 6.000000e+00, 9.000000e+00, 0.000000e+00]> : tensor<12xf32>
// CHECK-NEXT: %2 = glow.constant dense<5.000000e-01> : tensor<3xf32>
// CHECK-NEXT: %3 = glow.reshape %x : tensor<5x2xf32>
// CHECK-NEXT: %4 = cpu.matmul %3, %0, %2 config #cpu.matmul_config<rows = {{[0-9]+}}, blocks = {{[0-9]+}}> panels #cpu.panels<blocks = {{[0-9]+}}, lanes = {{[0-9]+}}> : tensor<5x3xf32>
// CHECK-NEXT: %5 = glow.reshape %4 : tensor<5x1x3xf32>
// CHECK-NEXT: %6 = glow.slice %h starts [0, 0, 0] sizes [1, 1, 3] steps [1, 1, 1] : tensor<1x1x3xf32>
// CHECK-NEXT: %7 = glow.reshape %6 : tensor<1x3xf32>
// CHECK-NEXT: %8 = cpu.recurrence %5, %1, %7 gates 1 reverse config #cpu.recurrence_config<rows = 1, blocks = 1> panels #cpu.panels<blocks = 1, lanes = 4> {
// CHECK-NEXT: ^bb0(%9: f32, %10: f32, %11: f32):
// CHECK-NEXT: %12 = arith.addf %9, %10 : f32
// CHECK-NEXT: %13 = math.tanh %12 : f32
// CHECK-NEXT: glow.yield %13
// CHECK-NEXT: } : tensor<5x1x3xf32>
// CHECK-NEXT: %y = glow.reshape %8 : tensor<5x1x1x3xf32>
// CHECK-NEXT: func.return %y : tensor<5x1x1x3xf32>
func.func @reverse(%x: tensor<5x1x2xf32>, %h: tensor<1x1x3xf32>) -> tensor<5x1x1x3xf32> {
  %w = glow.splat 0.5 : tensor<1x3x2xf32>
  %r = glow.constant dense<[[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]]> : tensor<1x3x3xf32>
  %b = glow.splat 0.25 : tensor<1x6xf32>
  %y, %yh = glow.rnn %x, %w, %r, %b, %h direction "reverse" : tensor<5x1x1x3xf32>, tensor<1x1x3xf32>
  func.return %y : tensor<5x1x1x3xf32>
}

// The gates of a unit in order: two units share a register, the last state is a result.
// CHECK-LABEL: func.func @lstm(
// CHECK-NEXT: %0 = glow.constant dense<5.000000e-01> : tensor<8xf32>
// CHECK-NEXT: %1 = glow.constant dense<[2.500000e-01, 2.500000e-01, 0.000000e+00, 0.000000e+00, 2.500000e-01, 2.500000e-01, 0.000000e+00, 0.000000e+00, 2.500000e-01, 2.500000e-01, 0.000000e+00, 0.000000e+00, 2.500000e-01, 2.500000e-01, 0.000000e+00, 0.000000e+00, 2.500000e-01, 2.500000e-01, 0.000000e+00, 0.000000e+00, 2.500000e-01, 2.500000e-01, 0.000000e+00, 0.000000e+00, 2.500000e-01, 2.500000e-01, 0.000000e+00, 0.000000e+00, 2.500000e-01, 2.500000e-01, 0.000000e+00, 0.000000e+00]> : tensor<32xf32>
// CHECK-NEXT: %2 = glow.constant dense<0.000000e+00> : tensor<8xf32>
// CHECK-NEXT: %3 = glow.reshape %x : tensor<8x1xf32>
// CHECK-NEXT: %4 = cpu.matmul %3, %0, %2 config #cpu.matmul_config<rows = {{[0-9]+}}, blocks = {{[0-9]+}}> panels #cpu.panels<blocks = {{[0-9]+}}, lanes = {{[0-9]+}}> : tensor<8x8xf32>
// CHECK-NEXT: %5 = glow.reshape %4 : tensor<4x2x8xf32>
// CHECK-NEXT: %6 = glow.slice %h starts [0, 0, 0] sizes [1, 2, 2] steps [1, 1, 1] : tensor<1x2x2xf32>
// CHECK-NEXT: %7 = glow.reshape %6 : tensor<2x2xf32>
// CHECK-NEXT: %8 = glow.slice %c starts [0, 0, 0] sizes [1, 2, 2] steps [1, 1, 1] : tensor<1x2x2xf32>
// CHECK-NEXT: %9 = glow.reshape %8 : tensor<2x2xf32>
// CHECK-NEXT: %10, %11 = cpu.recurrence %5, %1, %7, %9 gates 4 config #cpu.recurrence_config{{.*}} {
// CHECK-NEXT: ^bb0(%12: f32, %13: f32, %14: f32, %15: f32, %16: f32, %17: f32, %18: f32, %19: f32, %20: f32, %21: f32):
// CHECK-NEXT: %22 = arith.addf %12, %16 : f32
// CHECK-NEXT: %23 = arith.constant 1.000000e+00 : f32
// CHECK-NEXT: %24 = arith.negf %22 : f32
// CHECK-NEXT: %25 = math.exp %24 : f32
// CHECK-NEXT: %26 = arith.addf %25, %23 : f32
// CHECK-NEXT: %27 = arith.divf %23, %26 : f32
// CHECK-NEXT: %28 = arith.addf %13, %17 : f32
// CHECK-NEXT: %29 = arith.constant 1.000000e+00 : f32
// CHECK-NEXT: %30 = arith.negf %28 : f32
// CHECK-NEXT: %31 = math.exp %30 : f32
// CHECK-NEXT: %32 = arith.addf %31, %29 : f32
// CHECK-NEXT: %33 = arith.divf %29, %32 : f32
// CHECK-NEXT: %34 = arith.addf %14, %18 : f32
// CHECK-NEXT: %35 = arith.constant 1.000000e+00 : f32
// CHECK-NEXT: %36 = arith.negf %34 : f32
// CHECK-NEXT: %37 = math.exp %36 : f32
// CHECK-NEXT: %38 = arith.addf %37, %35 : f32
// CHECK-NEXT: %39 = arith.divf %35, %38 : f32
// CHECK-NEXT: %40 = arith.addf %15, %19 : f32
// CHECK-NEXT: %41 = math.tanh %40 : f32
// CHECK-NEXT: %42 = arith.mulf %39, %21 : f32
// CHECK-NEXT: %43 = arith.mulf %27, %41 : f32
// CHECK-NEXT: %44 = arith.addf %42, %43 : f32
// CHECK-NEXT: %45 = math.tanh %44 : f32
// CHECK-NEXT: %46 = arith.mulf %33, %45 : f32
// CHECK-NEXT: glow.yield %46, %44
// CHECK-NEXT: } : tensor<4x2x2xf32>, tensor<2x2xf32>
// CHECK-NEXT: %47 = glow.slice %10 starts [3, 0, 0] sizes [1, 2, 2] steps [1, 1, 1] : tensor<1x2x2xf32>
// CHECK-NEXT: %48 = glow.reshape %47 : tensor<2x2xf32>
// CHECK-NEXT: %y = glow.reshape %10 : tensor<4x1x2x2xf32>
// CHECK-NEXT: %u = glow.reshape %48 : tensor<1x2x2xf32>
// CHECK-NEXT: %v = glow.reshape %11 : tensor<1x2x2xf32>
// CHECK-NEXT: func.return %y, %u, %v : tensor<4x1x2x2xf32>, tensor<1x2x2xf32>, tensor<1x2x2xf32>
func.func @lstm(%x: tensor<4x2x1xf32>, %h: tensor<1x2x2xf32>, %c: tensor<1x2x2xf32>) -> (tensor<4x1x2x2xf32>, tensor<1x2x2xf32>, tensor<1x2x2xf32>) {
  %w = glow.splat 0.5 : tensor<1x8x1xf32>
  %r = glow.splat 0.25 : tensor<1x8x2xf32>
  %b = glow.splat 0.0 : tensor<1x16xf32>
  %y, %u, %v = glow.lstm %x, %w, %r, %b, %h, %c : tensor<4x1x2x2xf32>, tensor<1x2x2xf32>, tensor<1x2x2xf32>
  func.return %y, %u, %v : tensor<4x1x2x2xf32>, tensor<1x2x2xf32>, tensor<1x2x2xf32>
}

// The last bias is a number of each unit, which the reset gate multiplies too.
// CHECK-LABEL: func.func @gru(
// CHECK-NEXT: %0 = glow.constant dense<[5.000000e-01, 5.000000e-01, 5.000000e-01, 5.000000e-01, 5.000000e-01, 5.000000e-01, 0.000000e+00, 0.000000e+00]> : tensor<8xf32>
// CHECK-NEXT: %1 = glow.constant dense<[2.500000e-01, 2.500000e-01, 0.000000e+00, 0.000000e+00, 2.500000e-01, 2.500000e-01, 0.000000e+00, 0.000000e+00, 2.500000e-01, 2.500000e-01, 0.000000e+00, 0.000000e+00, 2.500000e-01, 2.500000e-01, 0.000000e+00, 0.000000e+00, 2.500000e-01, 2.500000e-01, 0.000000e+00, 0.000000e+00, 2.500000e-01, 2.500000e-01, 0.000000e+00, 0.000000e+00]> : tensor<24xf32>
// CHECK-NEXT: %2 = glow.constant dense<[1.100000e+01, 1.200000e+01]> : tensor<2xf32>
// CHECK-NEXT: %3 = glow.constant dense<[8.000000e+00, 1.000000e+01, 1.200000e+01, 1.400000e+01, 5.000000e+00, 6.000000e+00]> : tensor<6xf32>
// CHECK-NEXT: %4 = glow.reshape %x : tensor<4x1xf32>
// CHECK-NEXT: %5 = cpu.matmul %4, %0, %3 config #cpu.matmul_config<rows = {{[0-9]+}}, blocks = {{[0-9]+}}> panels #cpu.panels<blocks = {{[0-9]+}}, lanes = {{[0-9]+}}> : tensor<4x6xf32>
// CHECK-NEXT: %6 = glow.reshape %5 : tensor<4x1x6xf32>
// CHECK-NEXT: %7 = glow.slice %h starts [0, 0, 0] sizes [1, 1, 2] steps [1, 1, 1] : tensor<1x1x2xf32>
// CHECK-NEXT: %8 = glow.reshape %7 : tensor<1x2xf32>
// CHECK-NEXT: %9 = cpu.recurrence %6, %1, %8, %2 gates 3 config #cpu.recurrence_config{{.*}} {
// CHECK-NEXT: ^bb0(%10: f32, %11: f32, %12: f32, %13: f32, %14: f32, %15: f32, %16: f32, %17: f32):
// CHECK-NEXT: %18 = arith.addf %10, %13 : f32
// CHECK-NEXT: %19 = arith.constant 1.000000e+00 : f32
// CHECK-NEXT: %20 = arith.negf %18 : f32
// CHECK-NEXT: %21 = math.exp %20 : f32
// CHECK-NEXT: %22 = arith.addf %21, %19 : f32
// CHECK-NEXT: %23 = arith.divf %19, %22 : f32
// CHECK-NEXT: %24 = arith.addf %11, %14 : f32
// CHECK-NEXT: %25 = arith.constant 1.000000e+00 : f32
// CHECK-NEXT: %26 = arith.negf %24 : f32
// CHECK-NEXT: %27 = math.exp %26 : f32
// CHECK-NEXT: %28 = arith.addf %27, %25 : f32
// CHECK-NEXT: %29 = arith.divf %25, %28 : f32
// CHECK-NEXT: %30 = arith.addf %12, %17 : f32
// CHECK-NEXT: %31 = arith.mulf %29, %30 : f32
// CHECK-NEXT: %32 = arith.addf %31, %15 : f32
// CHECK-NEXT: %33 = math.tanh %32 : f32
// CHECK-NEXT: %34 = arith.subf %16, %33 : f32
// CHECK-NEXT: %35 = arith.mulf %23, %34 : f32
// CHECK-NEXT: %36 = arith.addf %33, %35 : f32
// CHECK-NEXT: glow.yield %36
// CHECK-NEXT: } : tensor<4x1x2xf32>
// CHECK-NEXT: %y = glow.reshape %9 : tensor<4x1x1x2xf32>
// CHECK-NEXT: func.return %y : tensor<4x1x1x2xf32>
func.func @gru(%x: tensor<4x1x1xf32>, %h: tensor<1x1x2xf32>) -> tensor<4x1x1x2xf32> {
  %w = glow.splat 0.5 : tensor<1x6x1xf32>
  %r = glow.splat 0.25 : tensor<1x6x2xf32>
  %b = glow.constant dense<[[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0]]> : tensor<1x12xf32>
  %y, %u = glow.gru %x, %w, %r, %b, %h linear_before_reset : tensor<4x1x1x2xf32>, tensor<1x1x2xf32>
  func.return %y : tensor<4x1x1x2xf32>
}

// Computed weights are left to `lower-nodes`.
// CHECK-LABEL: func.func @computed(
// CHECK-NEXT: %w = glow.splat 5.000000e-01 : tensor<1x3x2xf32>
// CHECK-NEXT: %b = glow.splat 2.500000e-01 : tensor<1x6xf32>
// CHECK-NEXT: %y, %yh = glow.rnn %x, %w, %r, %b, %h : tensor<5x1x1x3xf32>, tensor<1x1x3xf32>
// CHECK-NEXT: func.return %y : tensor<5x1x1x3xf32>
func.func @computed(%x: tensor<5x1x2xf32>, %r: tensor<1x3x3xf32>, %h: tensor<1x1x3xf32>) -> tensor<5x1x1x3xf32> {
  %w = glow.splat 0.5 : tensor<1x3x2xf32>
  %b = glow.splat 0.25 : tensor<1x6xf32>
  %y, %yh = glow.rnn %x, %w, %r, %b, %h : tensor<5x1x1x3xf32>, tensor<1x1x3xf32>
  func.return %y : tensor<5x1x1x3xf32>
}
