// RUN: glow-opt --quantize %s | filecheck %s

// A network that comes quantized keeps its roundings; padding and ReLUs behind casts go into what
// reads them.
// CHECK-LABEL: func.func @padded(
// CHECK:       %[[C:.*]] = glow.conv2d %{{.*}}, %{{.*}} strides [2, 2] pads [0, 0, 1, 1] : tensor<1x1x2x2x!quant.uniform<u8:f32, 1.000000e+00:9>>
// CHECK-NEXT:  %[[R:.*]] = glow.rescale %[[C]] : tensor<1x1x2x2x!quant.uniform<u8:f32, 5.000000e-01>>
// CHECK-NEXT:  quant.dcast %[[R]]
func.func @padded(%x: tensor<1x1x4x4xf32>) -> tensor<1x1x2x2xf32> {
  %0 = quant.qcast %x : tensor<1x1x4x4xf32> to tensor<1x1x4x4x!quant.uniform<u8:f32, 0.5:3>>
  %1 = quant.dcast %0 : tensor<1x1x4x4x!quant.uniform<u8:f32, 0.5:3>> to tensor<1x1x4x4xf32>
  %2 = glow.pad %1 pads [0, 0, 0, 0, 0, 0, 1, 1] : tensor<1x1x5x5xf32>
  %3 = quant.qcast %2 : tensor<1x1x5x5xf32> to tensor<1x1x5x5x!quant.uniform<u8:f32, 0.5:3>>
  %4 = quant.dcast %3 : tensor<1x1x5x5x!quant.uniform<u8:f32, 0.5:3>> to tensor<1x1x5x5xf32>
  %5 = glow.constant dense<7> : tensor<1x1x3x3xi8> as tensor<1x1x3x3x!quant.uniform<i8:f32, 0.25>>
  %6 = quant.dcast %5 : tensor<1x1x3x3x!quant.uniform<i8:f32, 0.25>> to tensor<1x1x3x3xf32>
  %7 = glow.conv2d %4, %6 strides [2, 2] : tensor<1x1x2x2xf32>
  %8 = quant.qcast %7 : tensor<1x1x2x2xf32> to tensor<1x1x2x2x!quant.uniform<u8:f32, 1.0:9>>
  %9 = quant.dcast %8 : tensor<1x1x2x2x!quant.uniform<u8:f32, 1.0:9>> to tensor<1x1x2x2xf32>
  %10 = glow.relu %9 : tensor<1x1x2x2xf32>
  %11 = quant.qcast %10 : tensor<1x1x2x2xf32> to tensor<1x1x2x2x!quant.uniform<u8:f32, 0.5>>
  %12 = quant.dcast %11 : tensor<1x1x2x2x!quant.uniform<u8:f32, 0.5>> to tensor<1x1x2x2xf32>
  func.return %12 : tensor<1x1x2x2xf32>
}
