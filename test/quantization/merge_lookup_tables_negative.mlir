// RUN: glow-opt --merge-lookup-tables %s | filecheck %s

// Another reader needs the sigmoid itself.
// CHECK-LABEL: func.func @other_reader(
// CHECK: glow.lookup_table
// CHECK: glow.mul
func.func @other_reader(%x: tensor<4x!quant.uniform<i8:f32, 0.05>>) -> (tensor<4x!quant.uniform<i8:f32, 0.03>>, tensor<4x!quant.uniform<i8:f32, 0.0078125>>) {
  %0 = glow.constant dense<7> : tensor<256xi8>
  %1 = glow.lookup_table %x, %0 : tensor<4x!quant.uniform<i8:f32, 0.0078125>>
  %2 = glow.mul %x, %1 : tensor<4x!quant.uniform<i8:f32, 0.03>>
  func.return %2, %1 : tensor<4x!quant.uniform<i8:f32, 0.03>>, tensor<4x!quant.uniform<i8:f32, 0.0078125>>
}

// A gate of another value.
// CHECK-LABEL: func.func @two_values(
// CHECK: glow.lookup_table
// CHECK: glow.mul
func.func @two_values(%x: tensor<4x!quant.uniform<i8:f32, 0.05>>, %y: tensor<4x!quant.uniform<i8:f32, 0.05>>) -> tensor<4x!quant.uniform<i8:f32, 0.03>> {
  %0 = glow.constant dense<7> : tensor<256xi8>
  %1 = glow.lookup_table %x, %0 : tensor<4x!quant.uniform<i8:f32, 0.0078125>>
  %2 = glow.mul %y, %1 : tensor<4x!quant.uniform<i8:f32, 0.03>>
  func.return %2 : tensor<4x!quant.uniform<i8:f32, 0.03>>
}

// Arithmetic alone is done where its operand is made.
// CHECK-LABEL: func.func @arithmetic(
// CHECK-NEXT: glow.rescale
// CHECK-NEXT: glow.mul
func.func @arithmetic(%x: tensor<4x!quant.uniform<i8:f32, 0.05>>) -> tensor<4x!quant.uniform<i8:f32, 0.03>> {
  %0 = glow.rescale %x : tensor<4x!quant.uniform<i8:f32, 0.0078125>>
  %1 = glow.mul %x, %0 : tensor<4x!quant.uniform<i8:f32, 0.03>>
  func.return %1 : tensor<4x!quant.uniform<i8:f32, 0.03>>
}

// A number for each channel: the result is no function of the element alone.
// CHECK-LABEL: func.func @channels(
// CHECK: glow.lookup_table
// CHECK: glow.add
func.func @channels(%x: tensor<2x2x!quant.uniform<u8:f32, 0.05>>) -> tensor<2x2x!quant.uniform<u8:f32, 0.03>> {
  %0 = glow.constant dense<7> : tensor<256xui8>
  %1 = glow.lookup_table %x, %0 : tensor<2x2x!quant.uniform<u8:f32, 0.01>>
  %2 = glow.constant dense<[1, 2]> : tensor<2xui8> as tensor<2x!quant.uniform<u8:f32, 0.01>>
  %3 = glow.add %1, %2 : tensor<2x2x!quant.uniform<u8:f32, 0.03>>
  func.return %3 : tensor<2x2x!quant.uniform<u8:f32, 0.03>>
}

// The constant of one element adds an axis, a table keeps the shape.
// CHECK-LABEL: func.func @more_axes(
// CHECK: glow.lookup_table
// CHECK: glow.add
func.func @more_axes(%x: tensor<2x!quant.uniform<u8:f32, 0.05>>) -> tensor<1x2x!quant.uniform<u8:f32, 0.03>> {
  %0 = glow.constant dense<7> : tensor<256xui8>
  %1 = glow.lookup_table %x, %0 : tensor<2x!quant.uniform<u8:f32, 0.01>>
  %2 = glow.constant dense<1> : tensor<1x1xui8> as tensor<1x1x!quant.uniform<u8:f32, 0.01>>
  %3 = glow.add %1, %2 : tensor<1x2x!quant.uniform<u8:f32, 0.03>>
  func.return %3 : tensor<1x2x!quant.uniform<u8:f32, 0.03>>
}
