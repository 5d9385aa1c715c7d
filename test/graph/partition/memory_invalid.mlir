// RUN: ! glow-opt %s --partition='devices=cpu:1KiB strategy=memory' 2>&1 | filecheck %s
// RUN: ! glow-opt %s --partition='devices=cpu:1300B strategy=memory' 2>&1 | filecheck %s --check-prefix SECOND
// RUN: ! glow-opt %s --partition='devices=cpu:1300B strategy=balance' 2>&1 | filecheck %s --check-prefix SECOND

// CHECK: error: partition: the network does not fit device 'cpu:0': with this node a part takes 1.125 KiB, 128 bytes more than there are (1 KiB on 'cpu:0') (at node 'a'); give more devices or more memory
// SECOND: error: partition: the network does not fit device 'cpu:0': with this node a part takes 2.188 KiB, 940 bytes more than there are (1.27 KiB on 'cpu:0') (at node 'c'); give more devices or more memory
func.func @main(%x: tensor<1x16xf32>) -> tensor<1x16xf32> {
  %v = glow.constant @v : tensor<16x16xf32>
  %w = glow.constant @w : tensor<16x16xf32>
  %a = glow.matmul %x, %v : tensor<1x16xf32>
  %b = glow.relu %a : tensor<1x16xf32>
  %c = glow.matmul %b, %w : tensor<1x16xf32>
  func.return %c : tensor<1x16xf32>
}
