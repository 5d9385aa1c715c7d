// RUN: glow-opt --prepare-qat --split-input-file %s 2>/dev/null | filecheck %s
// RUN: glow-opt --prepare-qat='train-scales=true schema=power-of-two per-channel=false' --split-input-file %s 2>/dev/null | filecheck %s --check-prefix=TRAIN

// Weights have a scale for each output channel, and bounds apart from their products. The
// reshape moves numbers that are rounded already; what leaves the network is not rounded.
// CHECK-LABEL: func.func @main(
// CHECK-NEXT: %[[S0:.*]] = glow.splat 0.0{{[0-9]+}} : tensor<f32>
// CHECK-NEXT: %[[Z0:.*]] = glow.splat 1.370000e+02 : tensor<f32>
// CHECK-NEXT: %[[X:.*]] = glow.fake_quantize %x, %[[S0]], %[[Z0]] low 0 high 255 : tensor<1x2x4x4xf32>
// CHECK-NEXT: %w = glow.constant
// CHECK-NEXT: %[[S1:.*]] = glow.constant dense<[0.00787401572, 0.0157480314]> : tensor<2xf32>
// CHECK-NEXT: %[[W:.*]] = glow.fake_quantize %w, %[[S1]] low -127 high 127 axis 0 : tensor<2x2x1x1xf32>
// CHECK-NEXT: %[[C:.*]] = glow.conv2d %[[X]], %[[W]] : tensor<1x2x4x4xf32>
// CHECK-NEXT: %r = glow.relu %[[C]] : tensor<1x2x4x4xf32>
// CHECK-NEXT: %[[S2:.*]] = glow.splat
// CHECK-NEXT: %[[R:.*]] = glow.fake_quantize %r, %[[S2]] low 0 high 255 : tensor<1x2x4x4xf32>
// CHECK-NEXT: %p = glow.avg_pool2d %[[R]] kernel [4, 4] : tensor<1x2x1x1xf32>
// CHECK-NEXT: %[[S3:.*]] = glow.splat
// CHECK-NEXT: %[[P:.*]] = glow.fake_quantize %p, %[[S3]] low 0 high 255 : tensor<1x2x1x1xf32>
// CHECK-NEXT: %f = glow.reshape %[[P]] : tensor<1x2xf32>
// CHECK-NEXT: %v = glow.constant
// CHECK-NEXT: %[[S4:.*]] = glow.constant dense<[0.00393700786, 0.0157480314, 0.00787401572]> : tensor<3xf32>
// CHECK-NEXT: %[[V:.*]] = glow.fake_quantize %v, %[[S4]] low -127 high 127 axis 1 : tensor<2x3xf32>
// CHECK-NEXT: %y = glow.matmul %f, %[[V]] : tensor<1x3xf32>
// CHECK-NEXT: func.return %y : tensor<1x3xf32>

// Variables hold the logarithms of scales, which are rounded to whole numbers.
// TRAIN-LABEL: func.func @main(
// TRAIN-NEXT: %x.log2_scale = glow.variable @x.log2_scale initial dense<-5.000000e+00> : tensor<f32>
// TRAIN-NEXT: %[[ONE:.*]] = glow.splat 1.000000e+00 : tensor<f32>
// TRAIN-NEXT: %[[E:.*]] = glow.fake_quantize %x.log2_scale, %[[ONE]] low -126 high 127 : tensor<f32>
// TRAIN-NEXT: %[[TWO:.*]] = glow.splat 2.000000e+00 : tensor<f32>
// TRAIN-NEXT: %[[S:.*]] = glow.pow %[[TWO]], %[[E]] : tensor<f32>
// TRAIN-NEXT: glow.fake_quantize %x, %[[S]] low -128 high 127 : tensor<1x2x4x4xf32>
// TRAIN: glow.variable @w.log2_scale initial dense<-5.000000e+00> : tensor<f32>
// TRAIN: glow.fake_quantize %w, %{{.*}} low -127 high 127 : tensor<2x2x1x1xf32>
func.func @main(%x: tensor<1x2x4x4xf32>) -> tensor<1x3xf32> {
  %w = glow.constant dense<[[[[0.5]], [[1.0]]], [[[-0.25]], [[2.0]]]]> : tensor<2x2x1x1xf32>
  %c = glow.conv2d %x, %w : tensor<1x2x4x4xf32>
  %r = glow.relu %c : tensor<1x2x4x4xf32>
  %p = glow.avg_pool2d %r kernel [4, 4] : tensor<1x2x1x1xf32>
  %f = glow.reshape %p : tensor<1x2xf32>
  %v = glow.constant dense<[[0.5, 1.0, -1.0], [0.25, 2.0, 0.0]]> : tensor<2x3xf32>
  %y = glow.matmul %f, %v : tensor<1x3xf32>
  func.return %y : tensor<1x3xf32>
}

// -----

// A bias is rounded as it joins the sums of integers.
// CHECK-LABEL: func.func @bias(
// CHECK: %b = glow.constant
// CHECK-NEXT: %[[S:.*]] = glow.constant dense<[5.602950e-05, 1.120590e-04]> : tensor<2xf32>
// CHECK-NEXT: %[[B:.*]] = glow.fake_quantize %b, %[[S]] low -2147483648 high 2147483647 axis 0 : tensor<2xf32>
// CHECK: glow.fully_connected %{{.*}}, %{{.*}}, %[[B]] : tensor<2x2xf32>
func.func @bias(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %w = glow.constant dense<[[0.5, 1.0], [0.25, -1.0]]> : tensor<2x2xf32>
  %b = glow.constant dense<[0.5, 1.0]> : tensor<2xf32>
  %y = glow.fully_connected %x, %w, %b : tensor<2x2xf32>
  func.return %y : tensor<2x2xf32>
}
