// RUN: glow-opt --convert-torch-onnx-to-glow %s | filecheck %s

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
