// RUN: glow-opt --fuse-rows %s | filecheck %s

// CHECK-NOT: cpu.fused_rows

// A sum of nothing but what is there; another axis; doubles.
func.func @sums(%x: tensor<8x16xf32>, %d: tensor<8x16xf64>) -> (tensor<8xf32>, tensor<16xf32>, tensor<8xf64>) {
  %0 = glow.reduce_sum %x axes [1] : tensor<8xf32>
  %1 = glow.mul %x, %x : tensor<8x16xf32>
  %2 = glow.reduce_sum %1 axes [0] : tensor<16xf32>
  %3 = glow.mul %d, %d : tensor<8x16xf64>
  %4 = glow.reduce_sum %3 axes [1] : tensor<8xf64>
  func.return %0, %2, %4 : tensor<8xf32>, tensor<16xf32>, tensor<8xf64>
}

// The sums are columns of a square matrix here, not a number of each row.
func.func @columns(%x: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %0 = glow.reduce_sum %x axes [1] : tensor<16xf32>
  %1 = glow.sub %x, %0 : tensor<16x16xf32>
  func.return %1 : tensor<16x16xf32>
}

// What comes behind waits for a product of the sums.
func.func @product(%x: tensor<16x16xf32>, %w: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %0 = glow.reduce_sum %x axes [1] keepdims : tensor<16x1xf32>
  %1 = glow.matmul %w, %0 : tensor<16x1xf32>
  %2 = glow.sub %x, %1 : tensor<16x16xf32>
  func.return %2 : tensor<16x16xf32>
}
