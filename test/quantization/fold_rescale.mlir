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

// CHECK-LABEL: func.func @same_type(
// CHECK-NEXT: func.return %x
func.func @same_type(%x: tensor<4x!quant.uniform<u8:f32, 0.5>>) -> tensor<4x!quant.uniform<u8:f32, 0.5>> {
  %0 = glow.rescale %x : tensor<4x!quant.uniform<u8:f32, 0.5>>
  func.return %0 : tensor<4x!quant.uniform<u8:f32, 0.5>>
}

// CHECK-LABEL: func.func @chain(
// CHECK-NEXT: %{{.*}} = glow.rescale %x : tensor<4x!quant.uniform<u8:f32, 2.000000e+00>>
// CHECK-NEXT: func.return
func.func @chain(%x: tensor<4x!quant.uniform<u8:f32, 0.5>>) -> tensor<4x!quant.uniform<u8:f32, 2.0>> {
  %0 = glow.rescale %x : tensor<4x!quant.uniform<u8:f32, 1.0>>
  %1 = glow.rescale %0 : tensor<4x!quant.uniform<u8:f32, 2.0>>
  func.return %1 : tensor<4x!quant.uniform<u8:f32, 2.0>>
}

// CHECK-LABEL: func.func @constant(
// CHECK-NEXT: %{{.*}} = glow.constant dense<6> : tensor<4xi8> as tensor<4x!quant.uniform<i8:f32, 2.500000e-01>>
// CHECK-NEXT: func.return
func.func @constant() -> tensor<4x!quant.uniform<i8:f32, 0.25>> {
  %c = glow.constant dense<3> : tensor<4xi8> as tensor<4x!quant.uniform<i8:f32, 0.5>>
  %0 = glow.rescale %c : tensor<4x!quant.uniform<i8:f32, 0.25>>
  func.return %0 : tensor<4x!quant.uniform<i8:f32, 0.25>>
}

// CHECK-LABEL: func.func @dequantized_constant(
// CHECK-NEXT: %{{.*}} = glow.constant dense<1.500000e+00> : tensor<4xf32>
// CHECK-NEXT: func.return
func.func @dequantized_constant() -> tensor<4xf32> {
  %c = glow.constant dense<3> : tensor<4xi8> as tensor<4x!quant.uniform<i8:f32, 0.5>>
  %0 = quant.dcast %c : tensor<4x!quant.uniform<i8:f32, 0.5>> to tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// The bias is stored at the scale of the sums: 8 x 0.5 is 16 x 0.25.
// CHECK-LABEL: func.func @product(
// CHECK-NEXT: %[[B:.*]] = glow.constant dense<16> : tensor<2xi32> as tensor<2x!quant.uniform<i32:f32, 2.500000e-01>>
// CHECK-NEXT: %{{.*}} = glow.conv2d %x, %w, %[[B]] : tensor<1x2x4x4x!quant.uniform<u8:f32, 1.000000e+00>>
// CHECK-NEXT: func.return
func.func @product(%x: tensor<1x2x4x4x!quant.uniform<u8:f32, 0.5>>, %w: tensor<2x2x1x1x!quant.uniform<i8:f32, 0.5>>) -> tensor<1x2x4x4x!quant.uniform<u8:f32, 1.0>> {
  %b = glow.constant dense<8> : tensor<2xi32> as tensor<2x!quant.uniform<i32:f32, 0.5>>
  %0 = glow.rescale %x : tensor<1x2x4x4x!quant.uniform<u8:f32, 1.0>>
  %1 = glow.conv2d %0, %w, %b : tensor<1x2x4x4x!quant.uniform<u8:f32, 1.0>>
  func.return %1 : tensor<1x2x4x4x!quant.uniform<u8:f32, 1.0>>
}

// CHECK-LABEL: func.func @linear(
// CHECK-NEXT: %{{.*}} = glow.fully_connected %x, %w : tensor<2x3xf32>
// CHECK-NEXT: func.return
func.func @linear(%x: tensor<2x4x!quant.uniform<u8:f32, 0.5>>, %w: tensor<4x3x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x3xf32> {
  %0 = glow.rescale %x : tensor<2x4x!quant.uniform<u8:f32, 1.0>>
  %1 = glow.fully_connected %0, %w : tensor<2x3xf32>
  func.return %1 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @bounds(
// CHECK-NEXT: %[[R:.*]] = glow.relu %x : tensor<4x!quant.uniform<i8:f32, 1.000000e+00>>
// CHECK-NEXT: %{{.*}} = glow.avg_pool2d %y kernel [2, 2] : tensor<1x1x1x1x!quant.uniform<i8:f32, 1.000000e+00>>
func.func @bounds(%x: tensor<4x!quant.uniform<i8:f32, 0.5>>, %y: tensor<1x1x2x2x!quant.uniform<i8:f32, 0.5>>) -> (tensor<4x!quant.uniform<i8:f32, 1.0>>, tensor<1x1x1x1x!quant.uniform<i8:f32, 1.0>>) {
  %0 = glow.rescale %x : tensor<4x!quant.uniform<i8:f32, 0.25>>
  %1 = glow.relu %0 : tensor<4x!quant.uniform<i8:f32, 1.0>>
  %2 = glow.rescale %y : tensor<1x1x2x2x!quant.uniform<i8:f32, 0.25>>
  %3 = glow.avg_pool2d %2 kernel [2, 2] : tensor<1x1x1x1x!quant.uniform<i8:f32, 1.0>>
  func.return %1, %3 : tensor<4x!quant.uniform<i8:f32, 1.0>>, tensor<1x1x1x1x!quant.uniform<i8:f32, 1.0>>
}

// A rescaling that multiplies and adds besides is no scale of the product's operand.
// CHECK-LABEL: func.func @with_operands(
// CHECK: %[[R:.*]] = glow.rescale %x, %m, %a
// CHECK-NEXT: %{{.*}} = glow.fully_connected %[[R]], %w
// CHECK-NEXT: func.return
func.func @with_operands(%x: tensor<2x4x!quant.uniform<u8:f32, 0.5>>, %w: tensor<4x3x!quant.uniform<i8:f32, 0.5>>, %m: tensor<2x4xf32>, %a: tensor<2x4xf32>) -> tensor<2x3xf32> {
  %0 = glow.rescale %x, %m, %a : tensor<2x4x!quant.uniform<u8:f32, 1.0>>
  %1 = glow.fully_connected %0, %w : tensor<2x3xf32>
  func.return %1 : tensor<2x3xf32>
}
