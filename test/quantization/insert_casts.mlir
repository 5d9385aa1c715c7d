// RUN: glow-opt --insert-casts %s 2>/dev/null | filecheck %s

// The residual of a transformer reads the float value; the product the cast one.
// CHECK-LABEL: func.func @main(
// CHECK-NEXT: %[[Q:.*]] = quant.qcast %x : tensor<2x2xf32> to tensor<2x2x!quant.uniform<u8:f32, {{[0-9.]+:[0-9]+}}>>
// CHECK-NEXT: %[[D:.*]] = quant.dcast %[[Q]]
// CHECK: %[[W:.*]] = quant.dcast %{{.*}} : tensor<2x2x!quant.uniform<i8<-127:127>:f32:1, {{.*}}>> to tensor<2x2xf32>
// CHECK-NEXT: %y = glow.matmul %[[D]], %[[W]] : tensor<2x2xf32>
// CHECK-NEXT: %s = glow.add %x, %y : tensor<2x2xf32>
// CHECK-NEXT: %n = glow.softmax %s
func.func @main(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %m = glow.constant dense<[[0.5, 1.0], [0.25, -1.0]]> : tensor<2x2xf32>
  %y = glow.matmul %x, %m : tensor<2x2xf32>
  %s = glow.add %x, %y : tensor<2x2xf32>
  %n = glow.softmax %s axis 1 : tensor<2x2xf32>
  func.return %n : tensor<2x2xf32>
}
