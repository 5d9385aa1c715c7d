// RUN: glow-opt --differentiate='loss=loss wrt=x' --split-input-file %s | filecheck %s

// Rounding lets gradients through, saturation does not.
// CHECK-LABEL: func.func @input(
// CHECK: %[[V:.*]] = glow.div %x, %s : tensor<2x3xf32>
// CHECK: %[[R:.*]] = glow.round %[[V]] : tensor<2x3xf32>
// CHECK: %[[L:.*]] = glow.max %[[R]], %{{.*}} : tensor<2x3xf32>
// CHECK: %[[Q:.*]] = glow.min %[[L]], %{{.*}} : tensor<2x3xf32>
// CHECK: %[[I:.*]] = glow.equal %[[Q]], %[[R]] : tensor<2x3xi1>
// CHECK: %x.grad = glow.select %[[I]], %g, %{{.*}} : tensor<2x3xf32>
// CHECK-NEXT: func.return %loss, %x.grad
func.func @input(%x: tensor<2x3xf32>, %s: tensor<f32>, %g: tensor<2x3xf32>) -> tensor<f32> {
  %0 = glow.fake_quantize %x, %s low 0 high 255 : tensor<2x3xf32>
  %1 = glow.mul %0, %g : tensor<2x3xf32>
  %loss = glow.reduce_sum %1 axes [0, 1] : tensor<f32>
  func.return %loss : tensor<f32>
}
