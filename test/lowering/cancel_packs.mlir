// RUN: glow-opt --cancel-packs %s | filecheck %s

// CHECK-LABEL: func.func @cancel(
// CHECK-NEXT: func.return %x, %y : tensor<1x2x4x4x16xf32>, tensor<1x20x4x4xf32>
func.func @cancel(%x: tensor<1x2x4x4x16xf32>, %y: tensor<1x20x4x4xf32>) -> (tensor<1x2x4x4x16xf32>, tensor<1x20x4x4xf32>) {
  %a = cpu.unpack %x channels 20 : tensor<1x20x4x4xf32>
  %b = cpu.pack %a lanes 16 : tensor<1x2x4x4x16xf32>
  %c = cpu.pack %y lanes 16 : tensor<1x2x4x4x16xf32>
  %d = cpu.unpack %c channels 20 : tensor<1x20x4x4xf32>
  func.return %b, %d : tensor<1x2x4x4x16xf32>, tensor<1x20x4x4xf32>
}

// CHECK-LABEL: func.func @one_pixel(
// CHECK-NEXT: %a = glow.reshape %x : tensor<1x32x1x1xf32>
// CHECK-NEXT: %b = glow.reshape %a : tensor<1x4x1x1x8xf32>
// CHECK-NEXT: func.return %b : tensor<1x4x1x1x8xf32>
func.func @one_pixel(%x: tensor<1x2x1x1x16xf32>) -> tensor<1x4x1x1x8xf32> {
  %a = cpu.unpack %x channels 32 : tensor<1x32x1x1xf32>
  %b = cpu.pack %a lanes 8 : tensor<1x4x1x1x8xf32>
  func.return %b : tensor<1x4x1x1x8xf32>
}

// Another number of lanes, a last block that is not full.
// CHECK-LABEL: func.func @negative(
// CHECK-NEXT: %a = cpu.unpack %x channels 20 : tensor<1x20x2x2xf32>
// CHECK-NEXT: %b = cpu.pack %a lanes 8 : tensor<1x3x2x2x8xf32>
// CHECK-NEXT: %c = cpu.unpack %y channels 20 : tensor<1x20x1x1xf32>
// CHECK-NEXT: func.return %b, %c : tensor<1x3x2x2x8xf32>, tensor<1x20x1x1xf32>
func.func @negative(%x: tensor<1x2x2x2x16xf32>, %y: tensor<1x2x1x1x16xf32>) -> (tensor<1x3x2x2x8xf32>, tensor<1x20x1x1xf32>) {
  %a = cpu.unpack %x channels 20 : tensor<1x20x2x2xf32>
  %b = cpu.pack %a lanes 8 : tensor<1x3x2x2x8xf32>
  %c = cpu.unpack %y channels 20 : tensor<1x20x1x1xf32>
  func.return %b, %c : tensor<1x3x2x2x8xf32>, tensor<1x20x1x1xf32>
}
