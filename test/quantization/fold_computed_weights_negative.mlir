// RUN: glow-opt --fold-computed-weights %s | filecheck %s

// What an input takes part in is computed at run time.
// CHECK-LABEL: func.func @of_an_input(
// CHECK: %[[M:.*]] = glow.mul %{{.*}}, %length : tensor<2xf32>
// CHECK-NEXT: quant.qcast %[[M]]
func.func @of_an_input(%length: tensor<2xf32>) -> tensor<2x!quant.uniform<i8:f32, 0.5>> {
  %v = glow.constant dense<[3, 1]> : tensor<2xi8> as tensor<2x!quant.uniform<i8:f32, 0.5>>
  %0 = quant.dcast %v : tensor<2x!quant.uniform<i8:f32, 0.5>> to tensor<2xf32>
  %1 = glow.mul %0, %length : tensor<2xf32>
  %2 = quant.qcast %1 : tensor<2xf32> to tensor<2x!quant.uniform<i8:f32, 0.5>>
  func.return %2 : tensor<2x!quant.uniform<i8:f32, 0.5>>
}

// Constants are not read before a cast asks for what they become: weights keep their bytes.
// CHECK-LABEL: func.func @without_a_cast(
// CHECK: quant.dcast %v
// CHECK-NEXT: %[[N:.*]] = glow.neg
// CHECK-NEXT: func.return %[[N]]
func.func @without_a_cast() -> tensor<2xf32> {
  %v = glow.constant dense<[3, 1]> : tensor<2xi8> as tensor<2x!quant.uniform<i8:f32, 0.5>>
  %0 = quant.dcast %v : tensor<2x!quant.uniform<i8:f32, 0.5>> to tensor<2xf32>
  %1 = glow.neg %0 : tensor<2xf32>
  func.return %1 : tensor<2xf32>
}

// Too much to be computed here.
// CHECK-LABEL: func.func @large(
// CHECK: glow.matmul
// CHECK-NEXT: quant.qcast
func.func @large() -> tensor<2048x2048x!quant.uniform<i8:f32, 0.5>> {
  %v = glow.splat 0.001 : tensor<2048x2048xf32>
  %0 = glow.matmul %v, %v : tensor<2048x2048xf32>
  %1 = quant.qcast %0 : tensor<2048x2048xf32> to tensor<2048x2048x!quant.uniform<i8:f32, 0.5>>
  func.return %1 : tensor<2048x2048x!quant.uniform<i8:f32, 0.5>>
}
