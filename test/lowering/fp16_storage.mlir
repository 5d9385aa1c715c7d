// RUN: glow-opt --fp16-storage='target=avx512' %s | filecheck %s

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

// The first of two products that are added up waits in 16 bits for the other, if their sum is
// rounded anyway.
// CHECK-LABEL: func.func @products(
// CHECK-NEXT: %a = glow.conv2d %x, %w : tensor<1x64x56x56xf32>
// CHECK-NEXT: %[[A:.*]] = glow.convert %a : tensor<1x64x56x56xbf16>
// CHECK-NEXT: %b = glow.conv2d %y, %w : tensor<1x64x56x56xf32>
// CHECK-NEXT: %[[F:.*]] = glow.convert %[[A]] : tensor<1x64x56x56xf32>
// CHECK-NEXT: %s = glow.add %b, %[[F]] : tensor<1x64x56x56xf32>
// CHECK-NEXT: %r = glow.relu %s : tensor<1x64x56x56xf32>
// CHECK-NEXT: %h = glow.convert %r : tensor<1x64x56x56xbf16>
func.func @products(%x: tensor<1x8x56x56xbf16>, %y: tensor<1x8x56x56xbf16>, %w: tensor<64x8x1x1xbf16>) -> tensor<1x64x56x56xbf16> {
  %a = glow.conv2d %x, %w : tensor<1x64x56x56xf32>
  %b = glow.conv2d %y, %w : tensor<1x64x56x56xf32>
  %s = glow.add %b, %a : tensor<1x64x56x56xf32>
  %r = glow.relu %s : tensor<1x64x56x56xf32>
  %h = glow.convert %r : tensor<1x64x56x56xbf16>
  func.return %h : tensor<1x64x56x56xbf16>
}

// CHECK-LABEL: func.func @exact_sum(
// CHECK-NOT: glow.convert
func.func @exact_sum(%x: tensor<1x8x56x56xbf16>, %y: tensor<1x8x56x56xbf16>, %w: tensor<64x8x1x1xbf16>) -> tensor<1x64x56x56xf32> {
  %a = glow.conv2d %x, %w : tensor<1x64x56x56xf32>
  %b = glow.conv2d %y, %w : tensor<1x64x56x56xf32>
  %s = glow.add %b, %a : tensor<1x64x56x56xf32>
  func.return %s : tensor<1x64x56x56xf32>
}
