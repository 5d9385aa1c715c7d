// RUN: glow-opt --recompute %s | filecheck %s

// Nobody else needs %x so long: keeping it costs what %0 saves.
// CHECK-LABEL: func.func @operand_dies(
// CHECK-NEXT: %y = glow.neg %x : tensor<64xf32>
// CHECK-NEXT: %0 = glow.tanh %y : tensor<64xf32>
// CHECK-NEXT: %1 = glow.tile %0 repeats [16] : tensor<1024xf32>
// CHECK-NEXT: %2 = glow.exp %1 : tensor<1024xf32>
// CHECK-NEXT: %3 = glow.reshape %2 : tensor<16x64xf32>
// CHECK-NEXT: %4 = glow.reduce_sum %3 axes [0] : tensor<64xf32>
// CHECK-NEXT: %5 = glow.add %4, %0 : tensor<64xf32>
// CHECK-NEXT: func.return %5 : tensor<64xf32>
func.func @operand_dies(%x: tensor<64xf32>) -> tensor<64xf32> {
  %y = glow.neg %x : tensor<64xf32>
  %0 = glow.tanh %y : tensor<64xf32>
  %1 = glow.tile %0 repeats [16] : tensor<1024xf32>
  %2 = glow.exp %1 : tensor<1024xf32>
  %3 = glow.reshape %2 : tensor<16x64xf32>
  %4 = glow.reduce_sum %3 axes [0] : tensor<64xf32>
  %5 = glow.add %4, %0 : tensor<64xf32>
  func.return %5 : tensor<64xf32>
}

// A product is too costly to be computed twice.
// CHECK-LABEL: func.func @product(
// CHECK-NEXT: %0 = glow.matmul %x, %w : tensor<8x8xf32>
// CHECK-NEXT: %1 = glow.tile %0 repeats [16, 1] : tensor<128x8xf32>
// CHECK-NEXT: %2 = glow.exp %1 : tensor<128x8xf32>
// CHECK-NEXT: %3 = glow.reshape %2 : tensor<16x8x8xf32>
// CHECK-NEXT: %4 = glow.reduce_sum %3 axes [0] : tensor<8x8xf32>
// CHECK-NEXT: %5 = glow.add %4, %0 : tensor<8x8xf32>
// CHECK-NEXT: %6 = glow.matmul %x, %4 : tensor<8x8xf32>
// CHECK-NEXT: func.return %5, %6 : tensor<8x8xf32>, tensor<8x8xf32>
func.func @product(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %0 = glow.matmul %x, %w : tensor<8x8xf32>
  %1 = glow.tile %0 repeats [16, 1] : tensor<128x8xf32>
  %2 = glow.exp %1 : tensor<128x8xf32>
  %3 = glow.reshape %2 : tensor<16x8x8xf32>
  %4 = glow.reduce_sum %3 axes [0] : tensor<8x8xf32>
  %5 = glow.add %4, %0 : tensor<8x8xf32>
  %6 = glow.matmul %x, %4 : tensor<8x8xf32>
  func.return %5, %6 : tensor<8x8xf32>, tensor<8x8xf32>
}
