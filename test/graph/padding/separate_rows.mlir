// RUN: glow-opt --separate-rows --canonicalize --split-input-file %s | filecheck %s

// Exporters without GatherND look up the last word of each sentence so.
// CHECK-LABEL: @last_words
// CHECK: [[PLACE:%.*]] = glow.arg_max %ids axis 1 : tensor<2xi64>
// CHECK: [[TUPLE:%.*]] = glow.reshape [[PLACE]] : tensor<2x1xi64>
// CHECK: [[WORDS:%.*]] = glow.gather_nd %x, [[TUPLE]] batch_dims 1 : tensor<2x8xf32>
// CHECK: func.return [[WORDS]]
func.func @last_words(%x: tensor<2x16x8xf32>, %ids: tensor<2x16xi32>) -> tensor<2x8xf32> {
  %flat = glow.reshape %x : tensor<32x8xf32>
  %place = glow.arg_max %ids axis 1 : tensor<2xi64>
  %begin = glow.constant dense<[0, 16]> : tensor<2xi64>
  %number = glow.add %place, %begin : tensor<2xi64>
  %y = glow.gather %flat, %number : tensor<2x8xf32>
  func.return %y : tensor<2x8xf32>
}
