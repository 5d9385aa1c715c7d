// RUN: glow-opt %s --partition='devices=cpu*2 strategy=balance' | filecheck %s
// RUN: glow-opt %s --partition='devices=cpu*2 strategy=balance tolerance=9' | filecheck %s --check-prefix ONE

// Four products of one size: two on each device, and the cut where few bytes cross.

// CHECK-LABEL: func.func private @part0(
// CHECK-COUNT-2: glow.matmul
// CHECK:         func.return %n : tensor<64x8xf32>
// CHECK-LABEL: func.func private @part1(
// CHECK-COUNT-2: glow.matmul
// CHECK:         func.return %d

// With any tolerance nothing crosses.

// ONE-LABEL: func.func private @part0(
// ONE-COUNT-4: glow.matmul
// ONE-NOT: part1
func.func @main(%x: tensor<64x512xf32>) -> tensor<64x512xf32> {
  %w = glow.constant @w : tensor<512x512xf32>
  %narrow = glow.constant @narrow : tensor<512x8xf32>
  %wide = glow.constant @wide : tensor<8x512xf32>
  %a = glow.matmul %x, %w : tensor<64x512xf32>
  %b = glow.matmul %a, %narrow : tensor<64x8xf32>
  %n = glow.relu %b : tensor<64x8xf32>
  %c = glow.matmul %n, %wide : tensor<64x512xf32>
  %d = glow.matmul %c, %w : tensor<64x512xf32>
  func.return %d : tensor<64x512xf32>
}
