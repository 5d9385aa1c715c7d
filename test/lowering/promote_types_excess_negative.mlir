// RUN: glow-opt --promote-types='excess=true' %s | filecheck %s

// An input of f16 would have to be widened to be moved: a cache of keys, to which new ones are added.
// CHECK-LABEL: func.func @cache(
// CHECK: glow.concat %past, %{{.*}} axis 0 : tensor<5x2xf16>
func.func @cache(%past: tensor<4x2xf16>, %x: tensor<1x2xf32>) -> tensor<5x2xf16> {
  %0 = glow.convert %x : tensor<1x2xf16>
  %y = glow.concat %past, %0 axis 0 : tensor<5x2xf16>
  func.return %y : tensor<5x2xf16>
}

// bf16 stays rounded.
// CHECK-LABEL: func.func @brain_floats(
// CHECK-NEXT: %0 = glow.convert %x : tensor<4xbf16>
// CHECK-NEXT: %1 = glow.add %0, %0 : tensor<4xbf16>
// CHECK-NEXT: %y = glow.convert %1 : tensor<4xf32>
func.func @brain_floats(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = glow.convert %x : tensor<4xbf16>
  %1 = glow.add %0, %0 : tensor<4xbf16>
  %y = glow.convert %1 : tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// A network's own conversions round.
// CHECK-LABEL: func.func @given(
// CHECK-NEXT: %0 = glow.convert %x : tensor<4xf16>
// CHECK-NEXT: %1 = glow.convert %0 : tensor<4xf32>
// CHECK-NEXT: %y = glow.add %1, %1 : tensor<4xf32>
func.func @given(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = glow.convert %x : tensor<4xf16>
  %1 = glow.convert %0 : tensor<4xf32>
  %y = glow.add %1, %1 : tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// Bits are those of f16.
// CHECK-LABEL: func.func @bits(
// CHECK: %[[S:.*]] = glow.convert %{{.*}} : tensor<4xf16>
// CHECK-NEXT: glow.bitcast %[[S]] : tensor<4xi16>
func.func @bits(%x: tensor<4xf16>) -> tensor<4xi16> {
  %s = glow.add %x, %x : tensor<4xf16>
  %y = glow.bitcast %s : tensor<4xi16>
  func.return %y : tensor<4xi16>
}
