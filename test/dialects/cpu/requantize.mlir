// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt --glow-to-instr %s | filecheck %s --check-prefix=INSTR

// CHECK-LABEL: func.func @sums(
// CHECK: %0 = cpu.requantize %x, %m low -3.000000e+00 high 2.520000e+02 zero_point 3 : tensor<2x5xui8>
// INSTR: instr.cpu.requantize @out %{{.*}}, @in %x, @in %m low -3.000000e+00 high 2.520000e+02 zero_point 3
func.func @sums(%x: tensor<2x5xi32>, %m: tensor<5xf32>) -> tensor<2x5xui8> {
  %0 = cpu.requantize %x, %m low -3.0 high 252.0 zero_point 3 : tensor<2x5xui8>
  func.return %0 : tensor<2x5xui8>
}

// CHECK-LABEL: func.func @numbers(
// CHECK: %0 = cpu.requantize %x low -1.280000e+02 high 1.270000e+02 : tensor<7xi8>
func.func @numbers(%x: tensor<7xf32>) -> tensor<7xi8> {
  %0 = cpu.requantize %x low -128.0 high 127.0 : tensor<7xi8>
  func.return %0 : tensor<7xi8>
}

// CHECK-LABEL: func.func @affine(
// CHECK: %0 = cpu.requantize %x, %m, %a low 0.000000e+00 high 2.550000e+02 input_zero_point 3 : tensor<2x5xui8>
// INSTR: instr.cpu.requantize @out %{{.*}}, @in %x, @in %m, @in %a low 0.000000e+00 high 2.550000e+02 input_zero_point 3
func.func @affine(%x: tensor<2x5xui8>, %m: tensor<5xf32>, %a: tensor<5xf32>) -> tensor<2x5xui8> {
  %0 = cpu.requantize %x, %m, %a low 0.0 high 255.0 input_zero_point 3 : tensor<2x5xui8>
  func.return %0 : tensor<2x5xui8>
}
