// RUN: not glow-opt --convert-torch-onnx-to-glow %s 2>&1 | filecheck %s

// What is no operator of ONNX is told with its place.
// CHECK: 1 operation is not supported: 'aten.relu' at {{.*}}:6:3
func.func @main(%x: !torch.vtensor<[2],f32>) -> !torch.vtensor<[2],f32> attributes {torch.onnx_meta.opset_version = 17 : si64} {
  %0 = torch.operator "aten.relu"(%x) : (!torch.vtensor<[2],f32>) -> !torch.vtensor<[2],f32>
  return %0 : !torch.vtensor<[2],f32>
}
