// RUN: glow-opt --split-input-file --verify-diagnostics %s | filecheck %s --allow-empty

// Each names what converts its program.
// expected-error @below {{unknown operation 'vhlo.func_v1'; convert it with stablehlo-opt --vhlo-legalize-to-stablehlo}}
vhlo.func_v1 @main() {
}
// -----
func.func @main(%x: tensor<1xf32>) -> tensor<1xf32> {
  // expected-error @below {{unknown operation 'tfl.relu'; convert it with tf-opt --tfl-to-tosa-pipeline, or the .tflite file with tosa-converter-for-tflite}}
  %0 = "tfl.relu"(%x) : (tensor<1xf32>) -> tensor<1xf32>
  func.return %0 : tensor<1xf32>
}
// -----
// expected-error @below {{'tf_type.string' is not registered; make StableHLO of the saved model with iree-import-tf}}
func.func @main(%x: tensor<1x!tf_type.string>) {
  func.return
}
// -----
func.func @main(%x: !torch.vtensor<[1],f32>) {
  // expected-error @below {{unknown operation 'torch.aten.relu'; convert it with torch-mlir, to StableHLO, TOSA or linalg}}
  %0 = torch.aten.relu %x : !torch.vtensor<[1],f32> -> !torch.vtensor<[1],f32>
  func.return
}
// -----
// expected-error @below {{unknown operation 'util.func'; read the program that IREE was given, which it does not give back}}
util.func public @main(%x: !hal.buffer_view) {
}
// CHECK-NOT: error
