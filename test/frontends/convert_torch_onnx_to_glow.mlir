// RUN: glow-opt --split-input-file --convert-torch-onnx-to-glow %s | filecheck %s

// The handlers of ONNX files make the nodes.
// CHECK: func.func @main(%x: tensor<2x3xf32>
// CHECK-NEXT: %{{.*}} = glow.constant
// CHECK: glow.matmul %x, %{{.*}} : tensor<2x2xf32>
// CHECK: glow.relu
// CHECK-NOT: torch.
func.func @main(%x: !torch.vtensor<[2,3],f32>) -> !torch.vtensor<[2,2],f32> attributes {torch.onnx_meta.opset_version = 17 : si64} {
  %w = torch.operator "onnx.Constant"() {torch.onnx.value = dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>} : () -> !torch.vtensor<[3,2],f32>
  %0 = torch.operator "onnx.MatMul"(%x, %w) : (!torch.vtensor<[2,3],f32>, !torch.vtensor<[3,2],f32>) -> !torch.vtensor<[2,2],f32>
  %1 = "torch.operator"(%0) <{name = "onnx.Relu"}> : (!torch.vtensor<[2,2],f32>) -> !torch.vtensor<[2,2],f32>
  return %1 : !torch.vtensor<[2,2],f32>
}

// -----

// Weights that iree-import-onnx keeps outside are globals; torch's integers have signs.
// CHECK: func.func @main(%x: tensor<3xi64>
// CHECK: %{{.*}} = glow.constant dense<[2, 3, 5]> : tensor<3xi64>
// CHECK: glow.add
util.global private @w = dense<[2, 3, 5]> : tensor<3xi64>
func.func @main(%x: !torch.vtensor<[3],si64>) -> !torch.vtensor<[3],si64> attributes {torch.onnx_meta.opset_version = 17 : si64} {
  %w = util.global.load @w : tensor<3xi64>
  %0 = torch_c.from_builtin_tensor %w : tensor<3xi64> -> !torch.vtensor<[3],si64>
  %1 = torch.operator "onnx.Add"(%x, %0) : (!torch.vtensor<[3],si64>, !torch.vtensor<[3],si64>) -> !torch.vtensor<[3],si64>
  return %1 : !torch.vtensor<[3],si64>
}
