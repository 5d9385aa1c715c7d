// RUN: glow-opt %s --verify-diagnostics --split-input-file

func.func @signed_input(%x: tensor<3x4xi8>, %y: tensor<4x5xi8>, %p: tensor<2xi32>) {
  // expected-error @+1 {{the input must be unsigned bytes, not tensor<3x4xi8>}}
  %0 = cpu.int8_batch_matmul %x, %y, %p lhs_axes [0, 1] rhs_axes [0, 1] result_axes [0, 1] : tensor<3x5xi32>
  func.return
}

// -----

func.func @float_points(%x: tensor<3x4xui8>, %y: tensor<4x5xi8>, %p: tensor<2xf32>) {
  // expected-error @+1 {{there must be two points, not tensor<2xf32>}}
  %0 = cpu.int8_batch_matmul %x, %y, %p lhs_axes [0, 1] rhs_axes [0, 1] result_axes [0, 1] : tensor<3x5xi32>
  func.return
}

// -----

func.func @depths(%x: tensor<3x4xui8>, %y: tensor<3x5xi8>, %p: tensor<2xi32>) {
  // expected-error @+1 {{there is no product of [3, 4] and [3, 5]}}
  %0 = cpu.int8_batch_matmul %x, %y, %p lhs_axes [0, 1] rhs_axes [0, 1] result_axes [0, 1] : tensor<3x5xi32>
  func.return
}

// -----

func.func @channel(%x: tensor<3x4xui8>, %y: tensor<4x5xi8>, %p: tensor<2xi32>, %b: tensor<5xi32>) {
  // expected-error @+1 {{the epilogue operand tensor<5xi32> fits neither the result tensor<3x5xi32> nor its channels}}
  %0 = cpu.int8_batch_matmul %x, %y, %p, %b lhs_axes [0, 1] rhs_axes [0, 1] result_axes [0, 1] {
  ^bb0(%s: i32, %e: i32):
    %t = arith.addi %s, %e : i32
    glow.yield %t
  } : tensor<3x5xi32>
  func.return
}

// -----

func.func @sums_of_words(%x: tensor<1x1x4x4x16xi16>) {
  // expected-error @+1 {{the input must be bytes, not tensor<1x1x4x4x16xi16>}}
  %0 = cpu.int8_sum_pool2d %x kernel [4, 4] : tensor<1x1x1x1x16xi32>
  func.return
}

// -----

func.func @sums_of_planes(%x: tensor<1x16x4x4xui8>) {
  // expected-error @+1 {{the input must have rank 5, not 4}}
  %0 = cpu.int8_sum_pool2d %x kernel [4, 4] : tensor<1x16x1x1xi32>
  func.return
}
