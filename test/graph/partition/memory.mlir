// RUN: glow-opt %s --split-input-file --partition='devices=cpu*3:1300B strategy=memory' | filecheck %s

// Each device holds one of the two weights of 1024 bytes; the third one is left over. A weight of
// the table that both read would be an entry once, and counts for both.

// CHECK-LABEL: func.func private @part0(%x: tensor<1x16xf32>) -> tensor<1x16xf32>
// CHECK-SAME:  glow.device = "cpu:0"
// CHECK-NEXT:    %v = glow.constant @v
// CHECK-NEXT:    %a = glow.matmul %x, %v
// CHECK-NEXT:    %b = glow.relu %a
// CHECK-NEXT:    func.return %b
// CHECK:       func.func private @part1(%b: tensor<1x16xf32>) -> tensor<1x16xf32>
// CHECK-SAME:  glow.device = "cpu:1"
// CHECK-NEXT:    %w = glow.constant @w
// CHECK-NEXT:    %c = glow.matmul %b, %w
// CHECK-NEXT:    func.return %c
// CHECK-NOT:   part2
func.func @main(%x: tensor<1x16xf32>) -> tensor<1x16xf32> {
  %v = glow.constant @v : tensor<16x16xf32>
  %w = glow.constant @w : tensor<16x16xf32>
  %a = glow.matmul %x, %v : tensor<1x16xf32>
  %b = glow.relu %a : tensor<1x16xf32>
  %c = glow.matmul %b, %w : tensor<1x16xf32>
  func.return %c : tensor<1x16xf32>
}

// -----

// What fits one device stays together.

// CHECK-LABEL: func.func private @part0(
// CHECK-NOT:   part1
func.func @main(%x: tensor<1x16xf32>) -> tensor<1x16xf32> {
  %v = glow.constant @v : tensor<16x16xf32>
  %a = glow.matmul %x, %v : tensor<1x16xf32>
  %b = glow.relu %a : tensor<1x16xf32>
  func.return %b : tensor<1x16xf32>
}
