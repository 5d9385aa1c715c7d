// RUN: glow-opt --lower-nodes --canonicalize --cse %s | filecheck %s

// One product before the loop, one in it; the loop carries results and states.
// CHECK-LABEL: func.func @reverse(
// CHECK-NEXT: %0 = glow.reshape %b : tensor<24xf32>
// CHECK-NEXT: %1 = glow.slice %0 starts [0] sizes [12] steps [1] : tensor<12xf32>
// CHECK-NEXT: %2 = glow.slice %0 starts [12] sizes [12] steps [1] : tensor<12xf32>
// CHECK-NEXT: %3 = glow.add %1, %2 : tensor<12xf32>
// CHECK-NEXT: %4 = glow.reshape %x : tensor<5x2xf32>
// CHECK-NEXT: %5 = glow.reshape %w : tensor<12x2xf32>
// CHECK-NEXT: %6 = glow.transpose %5 permutation [1, 0] : tensor<2x12xf32>
// CHECK-NEXT: %7 = glow.matmul %4, %6 : tensor<5x12xf32>
// CHECK-NEXT: %8 = glow.add %7, %3 : tensor<5x12xf32>
// CHECK-NEXT: %9 = glow.reshape %8 : tensor<5x1x12xf32>
// CHECK-NEXT: %10 = glow.reshape %r : tensor<12x3xf32>
// CHECK-NEXT: %11 = glow.transpose %10 permutation [1, 0] : tensor<3x12xf32>
// CHECK-NEXT: %12 = glow.reshape %h : tensor<1x3xf32>
// CHECK-NEXT: %13 = glow.reshape %c : tensor<1x3xf32>
// CHECK-NEXT: %14 = glow.splat 0.000000e+00 : tensor<5x1x3xf32>
// CHECK-NEXT: %15 = arith.constant 4 : index
// CHECK-NEXT: %16 = arith.constant 0 : index
// CHECK-NEXT: %17 = arith.constant 5 : index
// CHECK-NEXT: %18 = arith.constant 1 : index
// CHECK-NEXT: %19, %20, %21 = scf.for %22 = %16 to %17 step %18 iter_args(%23 = %14, %24 = %12, %25 = %13) -> (tensor<5x1x3xf32>, tensor<1x3xf32>, tensor<1x3xf32>) {
// CHECK-NEXT: %26 = arith.subi %15, %22 : index
// CHECK-NEXT: %27 = glow.dynamic_slice %9, %26 : tensor<1x12xf32>
// CHECK-NEXT: %28 = glow.matmul %24, %11 : tensor<1x12xf32>
// CHECK-NEXT: %29 = glow.add %28, %27 : tensor<1x12xf32>
// CHECK-NEXT: %30 = glow.slice %29 starts [0, 0] sizes [1, 3] steps [1, 1] : tensor<1x3xf32>
// CHECK-NEXT: %31 = glow.sigmoid %30 : tensor<1x3xf32>
// CHECK-NEXT: %32 = glow.slice %29 starts [0, 3] sizes [1, 3] steps [1, 1] : tensor<1x3xf32>
// CHECK-NEXT: %33 = glow.sigmoid %32 : tensor<1x3xf32>
// CHECK-NEXT: %34 = glow.slice %29 starts [0, 6] sizes [1, 3] steps [1, 1] : tensor<1x3xf32>
// CHECK-NEXT: %35 = glow.sigmoid %34 : tensor<1x3xf32>
// CHECK-NEXT: %36 = glow.slice %29 starts [0, 9] sizes [1, 3] steps [1, 1] : tensor<1x3xf32>
// CHECK-NEXT: %37 = glow.tanh %36 : tensor<1x3xf32>
// CHECK-NEXT: %38 = glow.mul %35, %25 : tensor<1x3xf32>
// CHECK-NEXT: %39 = glow.mul %31, %37 : tensor<1x3xf32>
// CHECK-NEXT: %40 = glow.add %38, %39 : tensor<1x3xf32>
// CHECK-NEXT: %41 = glow.tanh %40 : tensor<1x3xf32>
// CHECK-NEXT: %42 = glow.mul %33, %41 : tensor<1x3xf32>
// CHECK-NEXT: %43 = glow.dynamic_update %23, %42, %26 : tensor<5x1x3xf32>
// CHECK-NEXT: scf.yield %43, %42, %40 : tensor<5x1x3xf32>, tensor<1x3xf32>, tensor<1x3xf32>
// CHECK-NEXT: }
// CHECK-NEXT: %y = glow.reshape %19 : tensor<5x1x1x3xf32>
// CHECK-NEXT: %yh = glow.reshape %20 : tensor<1x1x3xf32>
// CHECK-NEXT: %yc = glow.reshape %21 : tensor<1x1x3xf32>
// CHECK-NEXT: func.return %y, %yh, %yc : tensor<5x1x1x3xf32>, tensor<1x1x3xf32>, tensor<1x1x3xf32>
func.func @reverse(%x: tensor<5x1x2xf32>, %w: tensor<1x12x2xf32>, %r: tensor<1x12x3xf32>, %b: tensor<1x24xf32>, %h: tensor<1x1x3xf32>, %c: tensor<1x1x3xf32>) -> (tensor<5x1x1x3xf32>, tensor<1x1x3xf32>, tensor<1x1x3xf32>) {
  %y, %yh, %yc = glow.lstm %x, %w, %r, %b, %h, %c direction "reverse" : tensor<5x1x1x3xf32>, tensor<1x1x3xf32>, tensor<1x1x3xf32>
  func.return %y, %yh, %yc : tensor<5x1x1x3xf32>, tensor<1x1x3xf32>, tensor<1x1x3xf32>
}

// A reset gate before its product: two products in a step.
// CHECK-LABEL: func.func @gru(
// CHECK-NEXT: %0 = glow.reshape %b : tensor<18xf32>
// CHECK-NEXT: %1 = glow.slice %0 starts [0] sizes [9] steps [1] : tensor<9xf32>
// CHECK-NEXT: %2 = glow.slice %0 starts [9] sizes [9] steps [1] : tensor<9xf32>
// CHECK-NEXT: %3 = glow.add %1, %2 : tensor<9xf32>
// CHECK-NEXT: %4 = glow.reshape %x : tensor<5x2xf32>
// CHECK-NEXT: %5 = glow.reshape %w : tensor<9x2xf32>
// CHECK-NEXT: %6 = glow.transpose %5 permutation [1, 0] : tensor<2x9xf32>
// CHECK-NEXT: %7 = glow.matmul %4, %6 : tensor<5x9xf32>
// CHECK-NEXT: %8 = glow.add %7, %3 : tensor<5x9xf32>
// CHECK-NEXT: %9 = glow.reshape %8 : tensor<5x1x9xf32>
// CHECK-NEXT: %10 = glow.reshape %r : tensor<9x3xf32>
// CHECK-NEXT: %11 = glow.transpose %10 permutation [1, 0] : tensor<3x9xf32>
// CHECK-NEXT: %12 = glow.reshape %h : tensor<1x3xf32>
// CHECK-NEXT: %13 = glow.slice %11 starts [0, 0] sizes [3, 6] steps [1, 1] : tensor<3x6xf32>
// CHECK-NEXT: %14 = glow.slice %11 starts [0, 6] sizes [3, 3] steps [1, 1] : tensor<3x3xf32>
// CHECK-NEXT: %15 = glow.splat 0.000000e+00 : tensor<5x1x3xf32>
// CHECK-NEXT: %16 = arith.constant 0 : index
// CHECK-NEXT: %17 = arith.constant 5 : index
// CHECK-NEXT: %18 = arith.constant 1 : index
// CHECK-NEXT: %19, %20 = scf.for %21 = %16 to %17 step %18 iter_args(%22 = %15, %23 = %12) -> (tensor<5x1x3xf32>, tensor<1x3xf32>) {
// CHECK-NEXT: %24 = glow.dynamic_slice %9, %21 : tensor<1x9xf32>
// CHECK-NEXT: %25 = glow.matmul %23, %13 : tensor<1x6xf32>
// CHECK-NEXT: %26 = glow.slice %24 starts [0, 0] sizes [1, 6] steps [1, 1] : tensor<1x6xf32>
// CHECK-NEXT: %27 = glow.add %25, %26 : tensor<1x6xf32>
// CHECK-NEXT: %28 = glow.slice %27 starts [0, 0] sizes [1, 3] steps [1, 1] : tensor<1x3xf32>
// CHECK-NEXT: %29 = glow.sigmoid %28 : tensor<1x3xf32>
// CHECK-NEXT: %30 = glow.slice %27 starts [0, 3] sizes [1, 3] steps [1, 1] : tensor<1x3xf32>
// CHECK-NEXT: %31 = glow.sigmoid %30 : tensor<1x3xf32>
// CHECK-NEXT: %32 = glow.mul %31, %23 : tensor<1x3xf32>
// CHECK-NEXT: %33 = glow.matmul %32, %14 : tensor<1x3xf32>
// CHECK-NEXT: %34 = glow.slice %24 starts [0, 6] sizes [1, 3] steps [1, 1] : tensor<1x3xf32>
// CHECK-NEXT: %35 = glow.add %33, %34 : tensor<1x3xf32>
// CHECK-NEXT: %36 = glow.tanh %35 : tensor<1x3xf32>
// CHECK-NEXT: %37 = glow.sub %23, %36 : tensor<1x3xf32>
// CHECK-NEXT: %38 = glow.mul %29, %37 : tensor<1x3xf32>
// CHECK-NEXT: %39 = glow.add %36, %38 : tensor<1x3xf32>
// CHECK-NEXT: %40 = glow.dynamic_update %22, %39, %21 : tensor<5x1x3xf32>
// CHECK-NEXT: scf.yield %40, %39 : tensor<5x1x3xf32>, tensor<1x3xf32>
// CHECK-NEXT: }
// CHECK-NEXT: %y = glow.reshape %19 : tensor<5x1x1x3xf32>
// CHECK-NEXT: %yh = glow.reshape %20 : tensor<1x1x3xf32>
// CHECK-NEXT: func.return %y, %yh : tensor<5x1x1x3xf32>, tensor<1x1x3xf32>
func.func @gru(%x: tensor<5x1x2xf32>, %w: tensor<1x9x2xf32>, %r: tensor<1x9x3xf32>, %b: tensor<1x18xf32>, %h: tensor<1x1x3xf32>) -> (tensor<5x1x1x3xf32>, tensor<1x1x3xf32>) {
  %y, %yh = glow.gru %x, %w, %r, %b, %h : tensor<5x1x1x3xf32>, tensor<1x1x3xf32>
  func.return %y, %yh : tensor<5x1x1x3xf32>, tensor<1x1x3xf32>
}

// A reset gate behind its product, whose bias is added apart: one product.
// CHECK-LABEL: func.func @linear(
// CHECK-NEXT: %0 = glow.reshape %b : tensor<18xf32>
// CHECK-NEXT: %1 = glow.slice %0 starts [0] sizes [9] steps [1] : tensor<9xf32>
// CHECK-NEXT: %2 = glow.slice %0 starts [9] sizes [9] steps [1] : tensor<9xf32>
// CHECK-NEXT: %3 = glow.add %1, %2 : tensor<9xf32>
// CHECK-NEXT: %4 = glow.slice %3 starts [0] sizes [6] steps [1] : tensor<6xf32>
// CHECK-NEXT: %5 = glow.slice %0 starts [6] sizes [3] steps [1] : tensor<3xf32>
// CHECK-NEXT: %6 = glow.slice %0 starts [15] sizes [3] steps [1] : tensor<3xf32>
// CHECK-NEXT: %7 = glow.concat %4, %5 axis 0 : tensor<9xf32>
// CHECK-NEXT: %8 = glow.reshape %x : tensor<5x2xf32>
// CHECK-NEXT: %9 = glow.reshape %w : tensor<9x2xf32>
// CHECK-NEXT: %10 = glow.transpose %9 permutation [1, 0] : tensor<2x9xf32>
// CHECK-NEXT: %11 = glow.matmul %8, %10 : tensor<5x9xf32>
// CHECK-NEXT: %12 = glow.add %11, %7 : tensor<5x9xf32>
// CHECK-NEXT: %13 = glow.reshape %12 : tensor<5x1x9xf32>
// CHECK-NEXT: %14 = glow.reshape %r : tensor<9x3xf32>
// CHECK-NEXT: %15 = glow.transpose %14 permutation [1, 0] : tensor<3x9xf32>
// CHECK-NEXT: %16 = glow.reshape %h : tensor<1x3xf32>
// CHECK-NEXT: %17 = glow.splat 0.000000e+00 : tensor<5x1x3xf32>
// CHECK-NEXT: %18 = arith.constant 0 : index
// CHECK-NEXT: %19 = arith.constant 5 : index
// CHECK-NEXT: %20 = arith.constant 1 : index
// CHECK-NEXT: %21, %22 = scf.for %23 = %18 to %19 step %20 iter_args(%24 = %17, %25 = %16) -> (tensor<5x1x3xf32>, tensor<1x3xf32>) {
// CHECK-NEXT: %26 = glow.dynamic_slice %13, %23 : tensor<1x9xf32>
// CHECK-NEXT: %27 = glow.matmul %25, %15 : tensor<1x9xf32>
// CHECK-NEXT: %28 = glow.add %27, %26 : tensor<1x9xf32>
// CHECK-NEXT: %29 = glow.slice %28 starts [0, 0] sizes [1, 3] steps [1, 1] : tensor<1x3xf32>
// CHECK-NEXT: %30 = glow.sigmoid %29 : tensor<1x3xf32>
// CHECK-NEXT: %31 = glow.slice %28 starts [0, 3] sizes [1, 3] steps [1, 1] : tensor<1x3xf32>
// CHECK-NEXT: %32 = glow.sigmoid %31 : tensor<1x3xf32>
// CHECK-NEXT: %33 = glow.slice %27 starts [0, 6] sizes [1, 3] steps [1, 1] : tensor<1x3xf32>
// CHECK-NEXT: %34 = glow.add %33, %6 : tensor<1x3xf32>
// CHECK-NEXT: %35 = glow.mul %32, %34 : tensor<1x3xf32>
// CHECK-NEXT: %36 = glow.slice %26 starts [0, 6] sizes [1, 3] steps [1, 1] : tensor<1x3xf32>
// CHECK-NEXT: %37 = glow.add %35, %36 : tensor<1x3xf32>
// CHECK-NEXT: %38 = glow.tanh %37 : tensor<1x3xf32>
// CHECK-NEXT: %39 = glow.sub %25, %38 : tensor<1x3xf32>
// CHECK-NEXT: %40 = glow.mul %30, %39 : tensor<1x3xf32>
// CHECK-NEXT: %41 = glow.add %38, %40 : tensor<1x3xf32>
// CHECK-NEXT: %42 = glow.dynamic_update %24, %41, %23 : tensor<5x1x3xf32>
// CHECK-NEXT: scf.yield %42, %41 : tensor<5x1x3xf32>, tensor<1x3xf32>
// CHECK-NEXT: }
// CHECK-NEXT: %y = glow.reshape %21 : tensor<5x1x1x3xf32>
// CHECK-NEXT: %yh = glow.reshape %22 : tensor<1x1x3xf32>
// CHECK-NEXT: func.return %y, %yh : tensor<5x1x1x3xf32>, tensor<1x1x3xf32>
func.func @linear(%x: tensor<5x1x2xf32>, %w: tensor<1x9x2xf32>, %r: tensor<1x9x3xf32>, %b: tensor<1x18xf32>, %h: tensor<1x1x3xf32>) -> (tensor<5x1x1x3xf32>, tensor<1x1x3xf32>) {
  %y, %yh = glow.gru %x, %w, %r, %b, %h linear_before_reset : tensor<5x1x1x3xf32>, tensor<1x1x3xf32>
  func.return %y, %yh : tensor<5x1x1x3xf32>, tensor<1x1x3xf32>
}
