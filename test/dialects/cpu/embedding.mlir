// RUN: glow-opt %s | glow-opt | filecheck %s
// RUN: glow-opt --glow-to-instr %s | filecheck %s --check-prefix=INSTR

// CHECK-LABEL: func.func @rows(
// CHECK: %0 = cpu.embedding_lookup %table, %indices columns 5 bits 4 : tensor<2x3x5xf32>
// INSTR: instr.cpu.embedding_lookup @out %{{.*}}, @in %table, @in %indices columns 5 bits 4
func.func @rows(%table: tensor<9x11xui8>, %indices: tensor<2x3xi64>) -> tensor<2x3x5xf32> {
  %0 = cpu.embedding_lookup %table, %indices columns 5 bits 4 : tensor<2x3x5xf32>
  func.return %0 : tensor<2x3x5xf32>
}
