// RUN: glow-opt --absorb-relus %s | filecheck %s

// The range of the result starts at 0, which the ReLU's does not.
// CHECK-LABEL: func.func @saturates(
// CHECK-NEXT: %{{.*}} = glow.rescale %x : tensor<4x!quant.uniform<u8:f32, 2.500000e-01>>
// CHECK-NEXT: func.return
func.func @saturates(%x: tensor<4x!quant.uniform<u8:f32, 0.5:8>>) -> tensor<4x!quant.uniform<u8:f32, 0.25>> {
  %0 = glow.relu %x : tensor<4x!quant.uniform<u8:f32, 0.5:8>>
  %1 = glow.rescale %0 : tensor<4x!quant.uniform<u8:f32, 0.25>>
  func.return %1 : tensor<4x!quant.uniform<u8:f32, 0.25>>
}

// Another reader keeps the ReLU.
// CHECK-LABEL: func.func @other_reader(
// CHECK-NEXT: %[[R:.*]] = glow.relu %x
// CHECK-NEXT: %{{.*}} = glow.rescale %x : tensor<4x!quant.uniform<i8:f32, 2.500000e-01:-128>>
// CHECK-NEXT: func.return %[[R]]
func.func @other_reader(%x: tensor<4x!quant.uniform<u8:f32, 0.5:8>>) -> (tensor<4x!quant.uniform<u8:f32, 0.5:8>>, tensor<4x!quant.uniform<i8:f32, 0.25:-128>>) {
  %0 = glow.relu %x : tensor<4x!quant.uniform<u8:f32, 0.5:8>>
  %1 = glow.rescale %0 : tensor<4x!quant.uniform<i8:f32, 0.25:-128>>
  func.return %0, %1 : tensor<4x!quant.uniform<u8:f32, 0.5:8>>, tensor<4x!quant.uniform<i8:f32, 0.25:-128>>
}
