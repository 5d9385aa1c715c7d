// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt --glow-to-instr %s | filecheck %s --check-prefix=INSTR

// CHECK-LABEL: func.func @rows(
// CHECK: %q, %s, %z = cpu.per_row_quantize %x columns 8 : tensor<2x5x8xui8>, tensor<2x5x1xf32>, tensor<2x5x1xi32>
// INSTR: instr.cpu.per_row_quantize @out %q, @out %s, @out %z, @in %x columns 8
func.func @rows(%x: tensor<2x5x7xf32>) -> (tensor<2x5x8xui8>, tensor<2x5x1xf32>, tensor<2x5x1xi32>) {
  %q, %s, %z = cpu.per_row_quantize %x columns 8 : tensor<2x5x8xui8>, tensor<2x5x1xf32>, tensor<2x5x1xi32>
  func.return %q, %s, %z : tensor<2x5x8xui8>, tensor<2x5x1xf32>, tensor<2x5x1xi32>
}

// CHECK-LABEL: func.func @ranges(
// CHECK: %l, %h = cpu.row_range %x : tensor<2x5x1xf32>, tensor<2x5x1xf32>
// INSTR: instr.cpu.row_range @out %l, @out %h, @in %x
func.func @ranges(%x: tensor<2x5x7xf32>) -> (tensor<2x5x1xf32>, tensor<2x5x1xf32>) {
  %l, %h = cpu.row_range %x : tensor<2x5x1xf32>, tensor<2x5x1xf32>
  func.return %l, %h : tensor<2x5x1xf32>, tensor<2x5x1xf32>
}
