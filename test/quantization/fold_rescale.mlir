// RUN: glow-opt --fold-rescale %s | filecheck %s

// CHECK-LABEL: func.func @up(
// CHECK-NEXT: %{{.*}} = glow.conv2d %x, %w : tensor<1x2x4x4x!quant.uniform<u8:f32, 2.000000e+00>>
// CHECK-NEXT: func.return
func.func @up(%x: tensor<1x2x4x4x!quant.uniform<u8:f32, 0.5:128>>, %w: tensor<2x2x1x1x!quant.uniform<i8:f32, 0.5>>) -> tensor<1x2x4x4x!quant.uniform<u8:f32, 2.0>> {
  %0 = glow.conv2d %x, %w : tensor<1x2x4x4x!quant.uniform<u8:f32, 1.0>>
  %1 = glow.rescale %0 : tensor<1x2x4x4x!quant.uniform<u8:f32, 2.0>>
  func.return %1 : tensor<1x2x4x4x!quant.uniform<u8:f32, 2.0>>
}

// CHECK-LABEL: func.func @up_shared(
// CHECK-NEXT: %0 = glow.conv2d
// CHECK-NEXT: %1 = glow.rescale %0
func.func @up_shared(%x: tensor<1x2x4x4x!quant.uniform<u8:f32, 0.5:128>>, %w: tensor<2x2x1x1x!quant.uniform<i8:f32, 0.5>>) -> (tensor<1x2x4x4x!quant.uniform<u8:f32, 2.0>>, tensor<1x2x4x4x!quant.uniform<u8:f32, 1.0>>) {
  %0 = glow.conv2d %x, %w : tensor<1x2x4x4x!quant.uniform<u8:f32, 1.0>>
  %1 = glow.rescale %0 : tensor<1x2x4x4x!quant.uniform<u8:f32, 2.0>>
  func.return %1, %0 : tensor<1x2x4x4x!quant.uniform<u8:f32, 2.0>>, tensor<1x2x4x4x!quant.uniform<u8:f32, 1.0>>
}

// CHECK-LABEL: func.func @down(
// CHECK-NEXT: %{{.*}} = glow.add %x, %y : tensor<4x!quant.uniform<u8:f32, 2.000000e+00>>
func.func @down(%x: tensor<4x!quant.uniform<u8:f32, 0.5>>, %y: tensor<4x!quant.uniform<u8:f32, 0.25>>) -> tensor<4x!quant.uniform<u8:f32, 2.0>> {
  %0 = glow.rescale %x : tensor<4x!quant.uniform<u8:f32, 1.0>>
  %1 = glow.add %0, %y : tensor<4x!quant.uniform<u8:f32, 2.0>>
  func.return %1 : tensor<4x!quant.uniform<u8:f32, 2.0>>
}

// CHECK-LABEL: func.func @dequantize(
// CHECK-NEXT: %{{.*}} = quant.dcast %x : tensor<4x!quant.uniform<u8:f32, 5.000000e-01>> to tensor<4xf32>
func.func @dequantize(%x: tensor<4x!quant.uniform<u8:f32, 0.5>>) -> tensor<4xf32> {
  %0 = glow.rescale %x : tensor<4x!quant.uniform<u8:f32, 1.0>>
  %1 = quant.dcast %0 : tensor<4x!quant.uniform<u8:f32, 1.0>> to tensor<4xf32>
  func.return %1 : tensor<4xf32>
}

// CHECK-LABEL: func.func @quantize(
// CHECK-NEXT: %{{.*}} = quant.qcast %x : tensor<4xf32> to tensor<4x!quant.uniform<u8:f32, 1.000000e+00>>
// CHECK-NEXT: func.return
func.func @quantize(%x: tensor<4xf32>) -> tensor<4x!quant.uniform<u8:f32, 1.0>> {
  %0 = quant.qcast %x : tensor<4xf32> to tensor<4x!quant.uniform<u8:f32, 0.5>>
  %1 = glow.rescale %0 : tensor<4x!quant.uniform<u8:f32, 1.0>>
  func.return %1 : tensor<4x!quant.uniform<u8:f32, 1.0>>
}
