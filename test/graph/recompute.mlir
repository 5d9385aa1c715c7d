// RUN: glow-opt --recompute %s | filecheck %s

// %0 needs 256 bytes while %1 (1024 bytes) and %2 are alive; %x, from which it is made
// again, is read at the end anyway.
// CHECK-LABEL: func.func @lowers_the_peak(
// CHECK-NEXT: %0 = glow.tanh %x : tensor<64xf32>
// CHECK-NEXT: %1 = glow.tile %0 repeats [16] : tensor<1024xf32>
// CHECK-NEXT: %2 = glow.exp %1 : tensor<1024xf32>
// CHECK-NEXT: %3 = glow.reshape %2 : tensor<16x64xf32>
// CHECK-NEXT: %4 = glow.reduce_sum %3 axes [0] : tensor<64xf32>
// CHECK-NEXT: %5 = glow.tanh %x : tensor<64xf32>
// CHECK-NEXT: %6 = glow.add %4, %5 : tensor<64xf32>
// CHECK-NEXT: %7 = glow.mul %4, %x : tensor<64xf32>
// CHECK-NEXT: func.return %6, %7 : tensor<64xf32>, tensor<64xf32>
func.func @lowers_the_peak(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %0 = glow.tanh %x : tensor<64xf32>
  %1 = glow.tile %0 repeats [16] : tensor<1024xf32>
  %2 = glow.exp %1 : tensor<1024xf32>
  %3 = glow.reshape %2 : tensor<16x64xf32>
  %4 = glow.reduce_sum %3 axes [0] : tensor<64xf32>
  %5 = glow.add %4, %0 : tensor<64xf32>
  %6 = glow.mul %4, %x : tensor<64xf32>
  func.return %5, %6 : tensor<64xf32>, tensor<64xf32>
}
