// RUN: glow-opt %s | filecheck %s
// RUN: glow-opt %s | glow-opt | filecheck %s

// The pretty form of each family is read, and the generic form is printed.

// CHECK-LABEL: func.func @families(
// CHECK: "stablehlo.constant"() <{value = dense<"0x000080FF"> : tensor<f32>}> : () -> tensor<f32>
// CHECK: "stablehlo.add"(%x, %x) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK: "stablehlo.convert"(%x) : (tensor<2x3xf32>) -> tensor<2x3xi32>
// CHECK: "stablehlo.compare"(%x, %{{.*}}) <{comparison_direction = #stablehlo<comparison_direction LT>, compare_type = #stablehlo<comparison_type FLOAT>}>
// CHECK: "stablehlo.select"
// CHECK: "stablehlo.transpose"(%x) <{permutation = array<i64: 1, 0>}>
// CHECK: "stablehlo.slice"(%x) <{start_indices = array<i64: 0, 0>, limit_indices = array<i64: 2, 3>, strides = array<i64: 1, 2>}>
// CHECK: "stablehlo.pad"(%x, %{{.*}}) <{edge_padding_low = array<i64: 0, 1>, edge_padding_high = array<i64: 0, -1>, interior_padding = array<i64: 1, 0>}>
// CHECK: dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>
// CHECK: "stablehlo.reduce"(%x, %{{.*}}) <{dimensions = array<i64: 1>}> ({
// CHECK: "stablehlo.maximum"
// CHECK: "chlo.erf"(%x)
func.func @families(%x: tensor<2x3xf32>) -> tensor<2xf32> {
  %c = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = stablehlo.add %x, %x : tensor<2x3xf32>
  %1 = stablehlo.convert %x : (tensor<2x3xf32>) -> tensor<2x3xi32>
  %2 = stablehlo.compare LT, %x, %0, FLOAT : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
  %3 = stablehlo.select %2, %x, %0 : tensor<2x3xi1>, tensor<2x3xf32>
  %4 = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %5 = stablehlo.slice %x [0:2, 0:3:2] : (tensor<2x3xf32>) -> tensor<2x2xf32>
  %6 = stablehlo.pad %x, %c, low = [0, 1], high = [0, -1], interior = [1, 0] : (tensor<2x3xf32>, tensor<f32>) -> tensor<3x3xf32>
  %7 = stablehlo.dot_general %x, %4, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
  %8 = stablehlo.reduce(%x init: %c) applies stablehlo.maximum across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  %9 = chlo.erf %x : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return %8 : tensor<2xf32>
}

// CHECK-LABEL: func.func @convolution(
// CHECK: dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>
// CHECK-SAME: padding = dense<[[1, 0]]> : tensor<1x2xi64>
func.func @convolution(%x: tensor<1x8x2xf32>, %w: tensor<3x2x4xf32>) -> tensor<1x7x4xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [1], pad = [[1, 0]], lhs_dilate = [1], rhs_dilate = [1], reverse = [false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<1x8x2xf32>, tensor<3x2x4xf32>) -> tensor<1x7x4xf32>
  func.return %0 : tensor<1x7x4xf32>
}

// CHECK-LABEL: func.func @loop(
// CHECK: "stablehlo.while"(%i, %x) ({
// CHECK: ^bb0(%{{.*}}: tensor<i32>, %{{.*}}: tensor<2xf32>):
func.func @loop(%i: tensor<i32>, %x: tensor<2xf32>) -> tensor<2xf32> {
  %0:2 = stablehlo.while(%n = %i, %v = %x) : tensor<i32>, tensor<2xf32>
  cond {
    %c = stablehlo.constant dense<3> : tensor<i32>
    %1 = stablehlo.compare LT, %n, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1 = stablehlo.add %n, %n : tensor<i32>
    stablehlo.return %1, %v : tensor<i32>, tensor<2xf32>
  }
  func.return %0#1 : tensor<2xf32>
}
