// RUN: glow-opt --fold-constants %s | filecheck %s

// CHECK-LABEL: func.func @chain(
// CHECK-NEXT: %n = glow.constant dense<{{\[\[}}-1.000000e+00, -4.000000e+00], [-2.000000e+00, -5.000000e+00], [-3.000000e+00, -6.000000e+00]]> : tensor<3x2xf32>
// CHECK-NEXT: func.return %n : tensor<3x2xf32>
func.func @chain() -> tensor<3x2xf32> {
  %a = glow.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %t = glow.transpose %a permutation [1, 0] : tensor<3x2xf32>
  %n = glow.neg %t : tensor<3x2xf32>
  func.return %n : tensor<3x2xf32>
}

// CHECK-LABEL: func.func @integers(
// CHECK-NEXT: %q = glow.constant dense<[3, -3]> : tensor<2xi64>
// CHECK-NEXT: %r = glow.add %x, %q : tensor<2xi64>
// CHECK-NEXT: func.return %r : tensor<2xi64>
func.func @integers(%x: tensor<2xi64>) -> tensor<2xi64> {
  %a = glow.constant dense<[7, -7]> : tensor<2xi64>
  %b = glow.constant dense<[2, 2]> : tensor<2xi64>
  %q = glow.div %a, %b : tensor<2xi64>
  %r = glow.add %x, %q : tensor<2xi64>
  func.return %r : tensor<2xi64>
}

// Large uniform results are not stored.
// CHECK-LABEL: func.func @uniform(
// CHECK-NEXT: %m = glow.splat 1.99999988 : tensor<64x64xf32>
// CHECK-NEXT: func.return %m : tensor<64x64xf32>
func.func @uniform() -> tensor<64x64xf32> {
  %a = glow.splat 2.0 : tensor<64x64xf32>
  %s = glow.sqrt %a : tensor<64x64xf32>
  %m = glow.mul %s, %s : tensor<64x64xf32>
  func.return %m : tensor<64x64xf32>
}

// Out of budget: the result would be far larger than what is stored.
// CHECK-LABEL: func.func @growth(
// CHECK-NEXT: %c = glow.constant dense<{{\[\[}}1.000000e+00], [2.000000e+00], [3.000000e+00], [4.000000e+00]]> : tensor<4x1xf32>
// CHECK-NEXT: %b = glow.broadcast %c : tensor<4x65536xf32>
// CHECK-NEXT: func.return %b : tensor<4x65536xf32>
func.func @growth() -> tensor<4x65536xf32> {
  %a = glow.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %c = glow.reshape %a : tensor<4x1xf32>
  %b = glow.broadcast %c : tensor<4x65536xf32>
  func.return %b : tensor<4x65536xf32>
}

// 2^27.8 multiplications are more than the budget: the node stays, and small ones fold.
// CHECK-LABEL: func.func @over_budget(
// CHECK:      glow.conv2d
// CHECK-NEXT: %{{.*}} = glow.constant dense<5.000000e+00> : tensor<f32>
func.func @over_budget() -> (tensor<1x4x118x118xf32>, tensor<f32>) {
  %a = glow.splat 1.0 : tensor<1x1x181x181xf32>
  %b = glow.splat 1.0 : tensor<4x1x64x64xf32>
  %x = glow.splat 2.0 : tensor<f32>
  %y = glow.splat 3.0 : tensor<f32>
  %0 = glow.conv2d %a, %b : tensor<1x4x118x118xf32>
  %1 = glow.add %x, %y : tensor<f32>
  func.return %0, %1 : tensor<1x4x118x118xf32>, tensor<f32>
}

// Fewer are not, and a library does 2^28 of a product of matrices in a blink.
// CHECK-LABEL: func.func @in_budget(
// CHECK-NOT:  glow.conv2d
// CHECK-NOT:  glow.matmul
func.func @in_budget() -> (tensor<1x1x118x118xf32>, tensor<64x64xf32>) {
  %a = glow.splat 1.0 : tensor<1x1x181x181xf32>
  %b = glow.splat 1.0 : tensor<1x1x64x64xf32>
  %c = glow.constant dense<3.0> : tensor<64x65536xf32>
  %d = glow.transpose %c permutation [1, 0] : tensor<65536x64xf32>
  %0 = glow.conv2d %a, %b : tensor<1x1x118x118xf32>
  %1 = glow.matmul %c, %d : tensor<64x64xf32>
  func.return %0, %1 : tensor<1x1x118x118xf32>, tensor<64x64xf32>
}

// The largest result counts: a scale and a zero point beside it are not growth.
// CHECK-LABEL: func.func @dynamic(
// CHECK-NOT: glow.dynamic_quantize
// CHECK: func.return
func.func @dynamic() -> (tensor<300x300xui8>, tensor<f32>, tensor<ui8>) {
  %w = glow.constant dense<2.0> : tensor<300x300xf32>
  %0, %1, %2 = glow.dynamic_quantize %w : tensor<300x300xui8>, tensor<f32>, tensor<ui8>
  func.return %0, %1, %2 : tensor<300x300xui8>, tensor<f32>, tensor<ui8>
}
