// RUN: glow-opt --form-integer-nodes %s | filecheck %s

// What is between the casts has another reader.
// CHECK-LABEL: func.func @other_reader(
// CHECK-NOT: glow.lookup_table
// CHECK: glow.erf
func.func @other_reader(%x: tensor<4x!quant.uniform<u8:f32, 0.05:128>>) -> (tensor<4x!quant.uniform<u8:f32, 0.25:2>>, tensor<4xf32>) {
  %0 = quant.dcast %x : tensor<4x!quant.uniform<u8:f32, 0.05:128>> to tensor<4xf32>
  %1 = glow.erf %0 : tensor<4xf32>
  %2 = glow.mul %0, %1 : tensor<4xf32>
  %3 = quant.qcast %2 : tensor<4xf32> to tensor<4x!quant.uniform<u8:f32, 0.25:2>>
  func.return %3, %1 : tensor<4x!quant.uniform<u8:f32, 0.25:2>>, tensor<4xf32>
}

// A function of two numbers.
// CHECK-LABEL: func.func @two_numbers(
// CHECK-NOT: glow.lookup_table
// CHECK: glow.erf
func.func @two_numbers(%x: tensor<4x!quant.uniform<u8:f32, 0.05:128>>, %y: tensor<4x!quant.uniform<u8:f32, 0.05:128>>) -> tensor<4x!quant.uniform<u8:f32, 0.25:2>> {
  %0 = quant.dcast %x : tensor<4x!quant.uniform<u8:f32, 0.05:128>> to tensor<4xf32>
  %1 = quant.dcast %y : tensor<4x!quant.uniform<u8:f32, 0.05:128>> to tensor<4xf32>
  %2 = glow.erf %0 : tensor<4xf32>
  %3 = glow.mul %1, %2 : tensor<4xf32>
  %4 = quant.qcast %3 : tensor<4xf32> to tensor<4x!quant.uniform<u8:f32, 0.25:2>>
  func.return %4 : tensor<4x!quant.uniform<u8:f32, 0.25:2>>
}

// Arithmetic alone is done where its operand is made.
// CHECK-LABEL: func.func @arithmetic(
// CHECK-NOT: glow.lookup_table
// CHECK: glow.abs
func.func @arithmetic(%x: tensor<4x!quant.uniform<u8:f32, 0.05:128>>) -> tensor<4x!quant.uniform<u8:f32, 0.25:2>> {
  %0 = quant.dcast %x : tensor<4x!quant.uniform<u8:f32, 0.05:128>> to tensor<4xf32>
  %1 = glow.abs %0 : tensor<4xf32>
  %2 = glow.add %0, %1 : tensor<4xf32>
  %3 = quant.qcast %2 : tensor<4xf32> to tensor<4x!quant.uniform<u8:f32, 0.25:2>>
  func.return %3 : tensor<4x!quant.uniform<u8:f32, 0.25:2>>
}

// A number for each element of the constant.
// CHECK-LABEL: func.func @channels(
// CHECK-NOT: glow.lookup_table
// CHECK: glow.erf
func.func @channels(%x: tensor<2x2x!quant.uniform<u8:f32, 0.05:128>>) -> tensor<2x2x!quant.uniform<u8:f32, 0.25:2>> {
  %0 = quant.dcast %x : tensor<2x2x!quant.uniform<u8:f32, 0.05:128>> to tensor<2x2xf32>
  %1 = glow.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %2 = glow.mul %0, %1 : tensor<2x2xf32>
  %3 = glow.erf %2 : tensor<2x2xf32>
  %4 = quant.qcast %3 : tensor<2x2xf32> to tensor<2x2x!quant.uniform<u8:f32, 0.25:2>>
  func.return %4 : tensor<2x2x!quant.uniform<u8:f32, 0.25:2>>
}
