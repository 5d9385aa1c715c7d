// RUN: glow-opt --store-half='target=avx512' %s | filecheck %s

// A value beyond half of the second cache: element-wise nodes read its 16 bits too.
// CHECK-LABEL: func.func @large(
// CHECK:      %r = glow.relu %x : tensor<1x64x56x56xf32>
// CHECK-NEXT: %h = glow.convert %r : tensor<1x64x56x56xbf16>
// CHECK-NEXT: %0 = glow.convert %h : tensor<1x64x56x56xf32>
// CHECK-NEXT: %s = glow.add %0, %x : tensor<1x64x56x56xf32>
func.func @large(%x: tensor<1x64x56x56xf32>) -> (tensor<1x64x56x56xbf16>, tensor<1x64x56x56xf32>) {
  %r = glow.relu %x : tensor<1x64x56x56xf32>
  %s = glow.add %r, %x : tensor<1x64x56x56xf32>
  %h = glow.convert %r : tensor<1x64x56x56xbf16>
  func.return %h, %s : tensor<1x64x56x56xbf16>, tensor<1x64x56x56xf32>
}

// A small one keeps its accuracy, and so does one that leaves the function.
// CHECK-LABEL: func.func @small(
// CHECK:      %s = glow.add %r, %x : tensor<4xf32>
func.func @small(%x: tensor<4xf32>) -> (tensor<4xbf16>, tensor<4xf32>) {
  %r = glow.relu %x : tensor<4xf32>
  %h = glow.convert %r : tensor<4xbf16>
  %s = glow.add %r, %x : tensor<4xf32>
  func.return %h, %s : tensor<4xbf16>, tensor<4xf32>
}

// CHECK-LABEL: func.func @result(
// CHECK:      glow.add %r, %x : tensor<1x64x56x56xf32>
func.func @result(%x: tensor<1x64x56x56xf32>) -> (tensor<1x64x56x56xf32>, tensor<1x64x56x56xbf16>, tensor<1x64x56x56xf32>) {
  %r = glow.relu %x : tensor<1x64x56x56xf32>
  %h = glow.convert %r : tensor<1x64x56x56xbf16>
  %s = glow.add %r, %x : tensor<1x64x56x56xf32>
  func.return %r, %h, %s : tensor<1x64x56x56xf32>, tensor<1x64x56x56xbf16>, tensor<1x64x56x56xf32>
}
