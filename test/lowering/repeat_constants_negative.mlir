// RUN: glow-opt --repeat-constants='target=avx512' %s | filecheck %s

// A row of a register and more is one already.
// CHECK-LABEL: func.func @wide(
// CHECK: glow.mul %x, %c : tensor<1x2x4x16xf32>
func.func @wide(%x: tensor<1x2x4x16xf32>) -> tensor<1x2x4x16xf32> {
  %c = glow.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0]> : tensor<16xf32>
  %0 = glow.mul %x, %c : tensor<1x2x4x16xf32>
  func.return %0 : tensor<1x2x4x16xf32>
}

// Numbers that are computed would have to be copied.
// CHECK-LABEL: func.func @computed(
// CHECK: glow.mul %x, %c : tensor<1x2x4x3xf32>
func.func @computed(%x: tensor<1x2x4x3xf32>, %c: tensor<3xf32>) -> tensor<1x2x4x3xf32> {
  %0 = glow.mul %x, %c : tensor<1x2x4x3xf32>
  func.return %0 : tensor<1x2x4x3xf32>
}

// Each row has a number of its own, too.
// CHECK-LABEL: func.func @rows(
// CHECK: glow.select %p, %c, %y : tensor<1x2x4x3xf32>
func.func @rows(%p: tensor<1x2x4x3xi1>, %y: tensor<4x1xf32>) -> tensor<1x2x4x3xf32> {
  %c = glow.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %0 = glow.select %p, %c, %y : tensor<1x2x4x3xf32>
  func.return %0 : tensor<1x2x4x3xf32>
}

// A row of 8,192 elements takes too much memory.
// CHECK-LABEL: func.func @long(
// CHECK: glow.mul %x, %c : tensor<2x4096x2xf32>
func.func @long(%x: tensor<2x4096x2xf32>) -> tensor<2x4096x2xf32> {
  %c = glow.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = glow.mul %x, %c : tensor<2x4096x2xf32>
  func.return %0 : tensor<2x4096x2xf32>
}
