// The operators of an attention block, with scalars as `Constant` nodes.

// RUN: python %S/inputs/onnx_text.py %s %t.onnx
// RUN: glow-opt %t.onnx | filecheck %s

// MODEL: <ir_version: 8, opset_import: ["": 17]>
// MODEL: attention (int64[1,4] ids, float[8,6] table, float[6] scale, float[6] shift)
// MODEL:   => (float[1,2,4,4] weights)
// MODEL: < int64[4] split = {0, 0, 2, 3} > {
// MODEL:   embedded = Gather<axis=0>(table, ids)
// MODEL:   normal = LayerNormalization<axis=-1, epsilon=1e-12>(embedded, scale, shift)
// MODEL:   heads = Reshape(normal, split)
// MODEL:   queries = Transpose<perm=[0,2,1,3]>(heads)
// MODEL:   keys = Transpose<perm=[0,2,3,1]>(heads)
// MODEL:   scores = MatMul(queries, keys)
// MODEL:   eight = Constant<value = float {8.0}>()
// MODEL:   scaled = Div(scores, eight)
// MODEL:   weights = Softmax<axis=-1>(scaled)
// MODEL: }

// CHECK:      %embedded = glow.gather %table, %ids : tensor<1x4x6xf32>
// CHECK-NEXT: %normal = glow.layer_norm %embedded, %scale, %shift axis 2 epsilon 1.000000e-12 : tensor<1x4x6xf32>
// CHECK-NEXT: %heads = glow.reshape %normal : tensor<1x4x2x3xf32>
// CHECK-NEXT: %queries = glow.transpose %heads permutation [0, 2, 1, 3] : tensor<1x2x4x3xf32>
// CHECK-NEXT: %keys = glow.transpose %heads permutation [0, 2, 3, 1] : tensor<1x2x3x4xf32>
// CHECK-NEXT: %scores = glow.matmul %queries, %keys : tensor<1x2x4x4xf32>
// CHECK-NEXT: %eight = glow.splat 8.000000e+00 : tensor<f32>
// CHECK-NEXT: %scaled = glow.div %scores, %eight : tensor<1x2x4x4xf32>
// CHECK-NEXT: %weights = glow.softmax %scaled axis 3 : tensor<1x2x4x4xf32>
