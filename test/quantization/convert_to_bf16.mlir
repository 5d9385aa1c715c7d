// RUN: glow-opt --convert-to-bf16 %s | filecheck %s
// RUN: glow-opt --convert-to-bf16='keep=kept,fully_connected' %s | filecheck %s --check-prefix=KEEP

// Factors are rounded, each once; sums, biases and everything between products stay f32.
// CHECK-LABEL: func.func @chain
func.func @chain(%x: tensor<2x3xf32>, %w: tensor<3x2xf32>, %b: tensor<2xf32>) -> tensor<2x2xf32> {
  // CHECK:      %0 = glow.convert %x : tensor<2x3xbf16>
  // CHECK-NEXT: %1 = glow.convert %w : tensor<3x2xbf16>
  // CHECK-NEXT: %2 = glow.fully_connected %0, %1, %b activation "relu" : tensor<2x2xf32>
  // KEEP:       glow.fully_connected %x, %w, %b activation "relu" : tensor<2x2xf32>
  %0 = glow.fully_connected %x, %w, %b activation "relu" : tensor<2x2xf32>
  // CHECK-NEXT: %kept = glow.matmul %0, %1 : tensor<2x2xf32>
  // KEEP:       %kept = glow.matmul %x, %w : tensor<2x2xf32>
  %kept = glow.matmul %x, %w : tensor<2x2xf32>
  // CHECK-NEXT: glow.add %2, %kept : tensor<2x2xf32>
  %2 = glow.add %0, %kept : tensor<2x2xf32>
  func.return %2 : tensor<2x2xf32>
}

// Constants are rounded now; other element types stay.
// CHECK-LABEL: func.func @weights
func.func @weights(%x: tensor<1x1x2x2xf32>, %d: tensor<2x2xf64>) -> (tensor<1x1x2x2xf32>, tensor<2x2xf64>) {
  // CHECK:      %1 = glow.constant dense<1.101560e+00> : tensor<1x1x1x1xbf16>
  // CHECK-NEXT: glow.conv2d %0, %1 : tensor<1x1x2x2xf32>
  %w = glow.constant dense<1.1> : tensor<1x1x1x1xf32>
  %0 = glow.conv2d %x, %w : tensor<1x1x2x2xf32>
  // CHECK-NEXT: glow.matmul %d, %d : tensor<2x2xf64>
  %1 = glow.matmul %d, %d : tensor<2x2xf64>
  func.return %0, %1 : tensor<1x1x2x2xf32>, tensor<2x2xf64>
}

// Training rounds what other products multiply, too; variables stay f32.
// CHECK-LABEL: func.func @training
func.func @training(%x: tensor<1x1x2x2xf32>) {
  // CHECK:      %w = glow.variable @w : tensor<1x1x1x1xf32>
  // CHECK-NEXT: %0 = glow.convert %x : tensor<1x1x2x2xbf16>
  // CHECK-NEXT: %1 = glow.convert %0 : tensor<1x1x2x2xf32>
  // CHECK-NEXT: %2 = glow.convert %w : tensor<1x1x1x1xbf16>
  // CHECK-NEXT: %3 = glow.convert %2 : tensor<1x1x1x1xf32>
  // CHECK-NEXT: %y = glow.conv_transpose2d %1, %3 : tensor<1x1x2x2xf32>
  %w = glow.variable @w : tensor<1x1x1x1xf32>
  %y = glow.conv_transpose2d %x, %w : tensor<1x1x2x2xf32>
  %m = glow.reduce_mean %y axes [2, 3] keepdims : tensor<1x1x1x1xf32>
  glow.save %m, @w
  func.return
}
