// RUN: not glow-opt --convert-torch-onnx-to-glow %s 2>&1 | filecheck %s

// Tensors of MLIR come from weights only.
// CHECK: 2 operations are not supported: 'tensor.empty' at {{.*}}:6:3; 'torch_c.from_builtin_tensor' of no weight at {{.*}}:7:3
func.func @main(%x: !torch.vtensor<[2],f32>) -> !torch.vtensor<[2],f32> attributes {torch.onnx_meta.opset_version = 17 : si64} {
  %0 = tensor.empty() : tensor<2xf32>
  %1 = torch_c.from_builtin_tensor %0 : tensor<2xf32> -> !torch.vtensor<[2],f32>
  %2 = torch.operator "onnx.Add"(%x, %1) : (!torch.vtensor<[2],f32>, !torch.vtensor<[2],f32>) -> !torch.vtensor<[2],f32>
  return %2 : !torch.vtensor<[2],f32>
}
