// RUN: glow-opt --convert-fake-quantization %s | filecheck %s
// RUN: glow-opt --convert-fake-quantization --quantize %s | filecheck %s --check-prefix=INTEGER

// A scale may be computed from constants, as powers of two are.
// CHECK-LABEL: func.func @main(
// CHECK-NEXT: %[[Q:.*]] = quant.qcast %x : tensor<1x2xf32> to tensor<1x2x!quant.uniform<u8:f32, 5.000000e-01:3>>
// CHECK-NEXT: %[[X:.*]] = quant.dcast %[[Q]]
// CHECK-NEXT: %[[I:.*]] = glow.constant dense<[{{\[}}1, 6], [2, -7]]> : tensor<2x2xi8> as tensor<2x2x!quant.uniform<i8<-7:7>:f32:1, {5.000000e-01, 2.500000e-01}>>
// CHECK-NEXT: %[[W:.*]] = quant.dcast %[[I]]
// CHECK-NEXT: %[[Y:.*]] = glow.matmul %[[X]], %[[W]] : tensor<1x2xf32>
// CHECK-NEXT: %[[T:.*]] = quant.qcast %[[Y]] : tensor<1x2xf32> to tensor<1x2x!quant.uniform<i16<-200:200>:f32, 1.250000e-01>>
// CHECK-NEXT: %[[Z:.*]] = quant.dcast %[[T]]
// CHECK-NEXT: func.return %[[Z]]

// INTEGER: glow.matmul %{{.*}}, %{{.*}} : tensor<1x2x!quant.uniform<i16<-200:200>:f32, 1.250000e-01>>
func.func @main(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {
  %s = glow.splat 0.5 : tensor<f32>
  %z = glow.splat 3.0 : tensor<f32>
  %0 = glow.fake_quantize %x, %s, %z low 0 high 255 : tensor<1x2xf32>
  %w = glow.constant dense<[[0.5, 1.5], [1.0, -2.0]]> : tensor<2x2xf32>
  %e = glow.constant dense<[0.5, 0.25]> : tensor<2xf32>
  %1 = glow.fake_quantize %w, %e low -7 high 7 axis 1 : tensor<2x2xf32>
  %y = glow.matmul %0, %1 : tensor<1x2xf32>
  %two = glow.splat 2.0 : tensor<f32>
  %three = glow.splat -3.0 : tensor<f32>
  %p = glow.pow %two, %three : tensor<f32>
  %2 = glow.fake_quantize %y, %p low -200 high 200 : tensor<1x2xf32>
  func.return %2 : tensor<1x2xf32>
}
