// RUN: glow-opt --lower --quantize %s 2>/dev/null | filecheck %s
// RUN: glow-opt --lower --quantize --assert-all-quantized %s 2>&1 >/dev/null | filecheck %s --check-prefix=WARN

// WARN: warning: no profile and no ranges in the program: calibrating on 4 random inputs (seed 0); make a profile with glow profile

// ReLU is fused or in the range (u8 with zero point 0), logits stay float.
// CHECK: func.func @main(
// CHECK-NEXT: %[[X:.*]] = quant.qcast %x : tensor<1x2x4x4xf32> to tensor<1x2x4x4x!quant.uniform<u8:f32, {{[0-9.]+:[0-9]+}}>>
// CHECK-NEXT: %[[W:.*]] = glow.constant dense<{{.*}}> : tensor<2x2x1x1xi8> as tensor<2x2x1x1x!quant.uniform<i8<-127:127>:f32:0, {0.0078740157186985016, 0.015748031437397003}>>
// CHECK-NEXT: %[[B:.*]] = glow.constant dense<{{.*}}> : tensor<2xi32> as tensor<2x!quant.uniform<i32:f32:0, {{.*}}>>
// CHECK-NEXT: %r = glow.conv2d %[[X]], %[[W]], %[[B]] : tensor<1x2x4x4x!quant.uniform<u8:f32, [[R:0.[0-9]+]]>>
// CHECK: %c2 = glow.conv2d %r, {{.*}} : tensor<1x2x4x4x!quant.uniform<u8:f32, {{[0-9.]+:[0-9]+}}>>
// CHECK-NEXT: %s = glow.add %c2, %r : tensor<1x2x4x4x!quant.uniform<u8:f32, {{[0-9.]+}}>>
// CHECK-NEXT: %p = glow.avg_pool2d %s kernel [4, 4] : tensor<1x2x1x1x!quant.uniform<u8:f32, {{[0-9.]+}}>>
// CHECK-NEXT: %[[F:.*]] = glow.reshape %p : tensor<1x2x!quant.uniform<u8:f32, {{[0-9.]+}}>>
// CHECK: %y = glow.fully_connected %[[F]], {{.*}} : tensor<1x3xf32>
// CHECK-NEXT: func.return %y : tensor<1x3xf32>
func.func @main(%x: tensor<1x2x4x4xf32>) -> tensor<1x3xf32> {
  %w = glow.constant dense<[[[[0.5]], [[-1.0]]], [[[0.25]], [[2.0]]]]> : tensor<2x2x1x1xf32>
  %b = glow.constant dense<[0.5, -0.25]> : tensor<2xf32>
  %c = glow.conv2d %x, %w, %b : tensor<1x2x4x4xf32>
  %r = glow.relu %c : tensor<1x2x4x4xf32>
  %c2 = glow.conv2d %r, %w, %b : tensor<1x2x4x4xf32>
  %s = glow.add %c2, %r : tensor<1x2x4x4xf32>
  %r2 = glow.relu %s : tensor<1x2x4x4xf32>
  %p = glow.avg_pool2d %r2 kernel [4, 4] : tensor<1x2x1x1xf32>
  %f = glow.reshape %p : tensor<1x2xf32>
  %m = glow.constant dense<[[0.5, 1.0, 2.0], [0.25, -1.0, 0.5]]> : tensor<2x3xf32>
  %y = glow.fully_connected %f, %m : tensor<1x3xf32>
  func.return %y : tensor<1x3xf32>
}
