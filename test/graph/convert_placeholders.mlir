// RUN: glow-opt --convert-placeholders %s | filecheck %s

// CHECK-LABEL: func.func @borders(
// CHECK-NEXT: %0 = glow.relu %x : tensor<4xf32>
// CHECK-NEXT: func.return %0 : tensor<4xf32>
func.func @borders(%x: tensor<4xf16>) -> tensor<4xf16> {
  %0 = glow.convert %x : tensor<4xf32>
  %1 = glow.relu %0 : tensor<4xf32>
  %2 = glow.convert %1 : tensor<4xf16>
  func.return %2 : tensor<4xf16>
}

// Somebody reads the argument as it is.
// CHECK-LABEL: func.func @other_reader(
// CHECK-NEXT: %0 = glow.convert %x : tensor<4xf32>
// CHECK-NEXT: %1 = glow.relu %0 : tensor<4xf32>
// CHECK-NEXT: %2 = glow.neg %x : tensor<4xf16>
// CHECK-NEXT: func.return %1, %2 : tensor<4xf32>, tensor<4xf16>
func.func @other_reader(%x: tensor<4xf16>) -> (tensor<4xf32>, tensor<4xf16>) {
  %0 = glow.convert %x : tensor<4xf32>
  %1 = glow.relu %0 : tensor<4xf32>
  %2 = glow.neg %x : tensor<4xf16>
  func.return %1, %2 : tensor<4xf32>, tensor<4xf16>
}
