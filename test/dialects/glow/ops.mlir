// RUN: GLOW_ROUNDTRIP
// RUN: GLOW_GENERIC_ROUNDTRIP

// CHECK-LABEL: func.func @storage(
// CHECK-NEXT: %a = glow.constant dense<{{\[\[}}1.000000e+00, 2.000000e+00], [3.000000e+00, 4.000000e+00]]> : tensor<2x2xf32>
// CHECK-NEXT: %b = glow.constant dense<[1, -2, 3]> : tensor<3xi64>
// CHECK-NEXT: %c = glow.splat 0.000000e+00 : tensor<1x64x56x56xf32>
// CHECK-NEXT: %d = glow.splat -1 : tensor<4xi1>
// CHECK-NEXT: %e = glow.splat 0xff800000 : tensor<4xf32>
// CHECK-NEXT: func.return %a, %b, %c : tensor<2x2xf32>, tensor<3xi64>, tensor<1x64x56x56xf32>
func.func @storage() -> (tensor<2x2xf32>, tensor<3xi64>, tensor<1x64x56x56xf32>) {
  %a = glow.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %b = glow.constant dense<[1, -2, 3]> : tensor<3xi64>
  %c = glow.splat 0.0 : tensor<1x64x56x56xf32>
  %d = glow.splat 1 : tensor<4xi1>
  %e = glow.splat 0xFF800000 : tensor<4xf32>
  func.return %a, %b, %c : tensor<2x2xf32>, tensor<3xi64>, tensor<1x64x56x56xf32>
}

// CHECK-LABEL: func.func @unary(
// CHECK-NEXT: %0 = glow.neg %x : tensor<4xf32>
// CHECK-NEXT: %1 = glow.abs %x : tensor<4xf32>
// CHECK-NEXT: %2 = glow.sign %x : tensor<4xf32>
// CHECK-NEXT: %3 = glow.floor %x : tensor<4xf32>
// CHECK-NEXT: %4 = glow.ceil %x : tensor<4xf32>
// CHECK-NEXT: %5 = glow.round %x : tensor<4xf32>
// CHECK-NEXT: %6 = glow.sqrt %x : tensor<4xf32>
// CHECK-NEXT: %7 = glow.rsqrt %x : tensor<4xf32>
// CHECK-NEXT: %8 = glow.reciprocal %x : tensor<4xf32>
// CHECK-NEXT: %9 = glow.exp %x : tensor<4xf32>
// CHECK-NEXT: %10 = glow.log %x : tensor<4xf32>
// CHECK-NEXT: %11 = glow.sin %x : tensor<4xf32>
// CHECK-NEXT: %12 = glow.cos %x : tensor<4xf32>
// CHECK-NEXT: %13 = glow.tan %x : tensor<4xf32>
// CHECK-NEXT: %14 = glow.asin %x : tensor<4xf32>
// CHECK-NEXT: %15 = glow.acos %x : tensor<4xf32>
// CHECK-NEXT: %16 = glow.atan %x : tensor<4xf32>
// CHECK-NEXT: %17 = glow.erf %x : tensor<4xf32>
// CHECK-NEXT: %18 = glow.is_nan %x : tensor<4xi1>
// CHECK-NEXT: %19 = glow.not %p : tensor<4xi1>
// CHECK-NEXT: func.return
func.func @unary(%x: tensor<4xf32>, %p: tensor<4xi1>) {
  %0 = glow.neg %x : tensor<4xf32>
  %1 = glow.abs %x : tensor<4xf32>
  %2 = glow.sign %x : tensor<4xf32>
  %3 = glow.floor %x : tensor<4xf32>
  %4 = glow.ceil %x : tensor<4xf32>
  %5 = glow.round %x : tensor<4xf32>
  %6 = glow.sqrt %x : tensor<4xf32>
  %7 = glow.rsqrt %x : tensor<4xf32>
  %8 = glow.reciprocal %x : tensor<4xf32>
  %9 = glow.exp %x : tensor<4xf32>
  %10 = glow.log %x : tensor<4xf32>
  %11 = glow.sin %x : tensor<4xf32>
  %12 = glow.cos %x : tensor<4xf32>
  %13 = glow.tan %x : tensor<4xf32>
  %14 = glow.asin %x : tensor<4xf32>
  %15 = glow.acos %x : tensor<4xf32>
  %16 = glow.atan %x : tensor<4xf32>
  %17 = glow.erf %x : tensor<4xf32>
  %18 = glow.is_nan %x : tensor<4xi1>
  %19 = glow.not %p : tensor<4xi1>
  func.return
}

// CHECK-LABEL: func.func @activations(
// CHECK-NEXT: %0 = glow.relu %x : tensor<4xf32>
// CHECK-NEXT: %1 = glow.sigmoid %x : tensor<4xf32>
// CHECK-NEXT: %2 = glow.tanh %x : tensor<4xf32>
// CHECK-NEXT: %3 = glow.softplus %x : tensor<4xf32>
// CHECK-NEXT: %4 = glow.softsign %x : tensor<4xf32>
// CHECK-NEXT: %5 = glow.hard_swish %x : tensor<4xf32>
// CHECK-NEXT: %6 = glow.mish %x : tensor<4xf32>
// CHECK-NEXT: %7 = glow.gelu %x : tensor<4xf32>
// CHECK-NEXT: %8 = glow.gelu_tanh %x : tensor<4xf32>
// CHECK-NEXT: %9 = glow.clip %x low 0.000000e+00 high 6.000000e+00 : tensor<4xf32>
// CHECK-NEXT: %10 = glow.leaky_relu %x alpha 1.250000e-01 : tensor<4xf32>
// CHECK-NEXT: %11 = glow.elu %x alpha 2.000000e+00 gamma 5.000000e-01 : tensor<4xf32>
// CHECK-NEXT: %12 = glow.hard_sigmoid %x alpha 2.500000e-01 beta 7.500000e-01 : tensor<4xf32>
// CHECK-NEXT: func.return
func.func @activations(%x: tensor<4xf32>) {
  %0 = glow.relu %x : tensor<4xf32>
  %1 = glow.sigmoid %x : tensor<4xf32>
  %2 = glow.tanh %x : tensor<4xf32>
  %3 = glow.softplus %x : tensor<4xf32>
  %4 = glow.softsign %x : tensor<4xf32>
  %5 = glow.hard_swish %x : tensor<4xf32>
  %6 = glow.mish %x : tensor<4xf32>
  %7 = glow.gelu %x : tensor<4xf32>
  %8 = glow.gelu_tanh %x : tensor<4xf32>
  %9 = glow.clip %x low 0.0 high 6.0 : tensor<4xf32>
  %10 = glow.leaky_relu %x alpha 0.125 : tensor<4xf32>
  %11 = glow.elu %x alpha 2.0 gamma 0.5 : tensor<4xf32>
  %12 = glow.hard_sigmoid %x alpha 0.25 beta 0.75 : tensor<4xf32>
  func.return
}

// CHECK-LABEL: func.func @binary(
// CHECK-NEXT: %0 = glow.add %x, %y : tensor<2x4xf32>
// CHECK-NEXT: %1 = glow.sub %x, %y : tensor<2x4xf32>
// CHECK-NEXT: %2 = glow.mul %x, %y : tensor<2x4xf32>
// CHECK-NEXT: %3 = glow.div %x, %y : tensor<2x4xf32>
// CHECK-NEXT: %4 = glow.max %x, %y : tensor<2x4xf32>
// CHECK-NEXT: %5 = glow.min %x, %y : tensor<2x4xf32>
// CHECK-NEXT: %6 = glow.pow %x, %y : tensor<2x4xf32>
// CHECK-NEXT: %7 = glow.mod %x, %y : tensor<2x4xf32>
// CHECK-NEXT: %8 = glow.fmod %x, %y : tensor<2x4xf32>
// CHECK-NEXT: %9 = glow.equal %x, %y : tensor<2x4xi1>
// CHECK-NEXT: %10 = glow.not_equal %x, %y : tensor<2x4xi1>
// CHECK-NEXT: %11 = glow.less %x, %y : tensor<2x4xi1>
// CHECK-NEXT: %12 = glow.less_equal %x, %y : tensor<2x4xi1>
// CHECK-NEXT: %13 = glow.and %p, %q : tensor<2x4xi1>
// CHECK-NEXT: %14 = glow.or %p, %q : tensor<2x4xi1>
// CHECK-NEXT: %15 = glow.xor %p, %q : tensor<2x4xi1>
// CHECK-NEXT: %16 = glow.select %q, %x, %y : tensor<2x4xf32>
// CHECK-NEXT: %17 = glow.convert %x : tensor<2x4xi32>
// CHECK-NEXT: func.return
func.func @binary(%x: tensor<2x4xf32>, %y: tensor<4xf32>, %p: tensor<4xi1>, %q: tensor<2x1xi1>) {
  %0 = glow.add %x, %y : tensor<2x4xf32>
  %1 = glow.sub %x, %y : tensor<2x4xf32>
  %2 = glow.mul %x, %y : tensor<2x4xf32>
  %3 = glow.div %x, %y : tensor<2x4xf32>
  %4 = glow.max %x, %y : tensor<2x4xf32>
  %5 = glow.min %x, %y : tensor<2x4xf32>
  %6 = glow.pow %x, %y : tensor<2x4xf32>
  %7 = glow.mod %x, %y : tensor<2x4xf32>
  %8 = glow.fmod %x, %y : tensor<2x4xf32>
  %9 = glow.equal %x, %y : tensor<2x4xi1>
  %10 = glow.not_equal %x, %y : tensor<2x4xi1>
  %11 = glow.less %x, %y : tensor<2x4xi1>
  %12 = glow.less_equal %x, %y : tensor<2x4xi1>
  %13 = glow.and %p, %q : tensor<2x4xi1>
  %14 = glow.or %p, %q : tensor<2x4xi1>
  %15 = glow.xor %p, %q : tensor<2x4xi1>
  %16 = glow.select %q, %x, %y : tensor<2x4xf32>
  %17 = glow.convert %x : tensor<2x4xi32>
  func.return
}

// CHECK-LABEL: func.func @small_elements(
// CHECK-NEXT: %0 = glow.constant dense<[-8, 7]> : tensor<2xi4>
// CHECK-NEXT: %1 = glow.constant dense<"0x7FFF38"> : tensor<3xf8E4M3FN>
// CHECK-NEXT: %2 = glow.splat 1.500000e+00 : tensor<2xf4E2M1FN>
// CHECK-NEXT: %3 = glow.convert %x round_mode "up" : tensor<4xf8E8M0FNU>
// CHECK-NEXT: %4 = glow.convert %3 : tensor<4xf32>
// CHECK-NEXT: %5 = glow.reshape %3 : tensor<2x2xf8E8M0FNU>
// CHECK-NEXT: func.return
func.func @small_elements(%x: tensor<4xf32>) {
  %0 = glow.constant dense<[-8, 7]> : tensor<2xi4>
  %1 = glow.constant dense<"0x7FFF38"> : tensor<3xf8E4M3FN>
  %2 = glow.splat 1.5 : tensor<2xf4E2M1FN>
  %3 = glow.convert %x round_mode "up" : tensor<4xf8E8M0FNU>
  %4 = glow.convert %3 : tensor<4xf32>
  %5 = glow.reshape %3 : tensor<2x2xf8E8M0FNU>
  func.return
}

// CHECK-LABEL: func.func @fused(
// CHECK-NEXT: %a, %b = glow.fused %x, %y {
// CHECK-NEXT: ^bb0(%s: f32, %t: f32):
// CHECK-NEXT: %u = arith.addf %s, %t : f32
// CHECK-NEXT: %v = math.exp %u : f32
// CHECK-NEXT: glow.yield %u, %v
// CHECK-NEXT: } : tensor<2x4xf32>, tensor<2x4xf32>
// CHECK-NEXT: func.return %a, %b : tensor<2x4xf32>, tensor<2x4xf32>
func.func @fused(%x: tensor<2x4xf32>, %y: tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %a, %b = glow.fused %x, %y {
  ^bb0(%s: f32, %t: f32):
    %u = arith.addf %s, %t : f32
    %v = math.exp %u : f32
    glow.yield %u, %v
  } : tensor<2x4xf32>, tensor<2x4xf32>
  func.return %a, %b : tensor<2x4xf32>, tensor<2x4xf32>
}

// The predicate stands after the operands, before the attributes.
// CHECK-LABEL: func.func @predicate(
// CHECK-NEXT: %0 = glow.clip %x pred %p low 0.000000e+00 : tensor<2x4xf32>
// CHECK-NEXT: func.return %0 : tensor<2x4xf32>
func.func @predicate(%x: tensor<2x4xf32>, %p: tensor<2xi1>) -> tensor<2x4xf32> {
  %0 = glow.clip %x pred %p low 0.0 : tensor<2x4xf32>
  func.return %0 : tensor<2x4xf32>
}

// CHECK-LABEL: func.func @windows(
// CHECK-NEXT: %0 = glow.conv2d %x, %w, %b strides [2, 2] pads [1, 1, 1, 1] group 2 : tensor<1x8x5x5xf32>
// CHECK-NEXT: %1 = glow.conv2d %x, %w dilations [2, 2] group 2 activation "relu" : tensor<1x8x5x5xf32>
// CHECK-NEXT: %2 = glow.max_pool2d %x kernel [2, 2] strides [2, 2] ceil_mode : tensor<1x4x5x5xf32>
// CHECK-NEXT: %3 = glow.avg_pool2d %x count_include_pad kernel [3, 3] pads [1, 1, 1, 1] : tensor<1x4x9x9xf32>
// CHECK-NEXT: %4 = glow.arg_max_pool2d %x kernel [2, 2] strides [2, 2] : tensor<1x4x4x4xi64>
// CHECK-NEXT: func.return
func.func @windows(%x: tensor<1x4x9x9xf32>, %w: tensor<8x2x3x3xf32>, %b: tensor<8xf32>) {
  %0 = glow.conv2d %x, %w, %b strides [2, 2] pads [1, 1, 1, 1] group 2 : tensor<1x8x5x5xf32>
  %1 = glow.conv2d %x, %w dilations [2, 2] group 2 activation "relu" : tensor<1x8x5x5xf32>
  %2 = glow.max_pool2d %x kernel [2, 2] strides [2, 2] ceil_mode : tensor<1x4x5x5xf32>
  %3 = glow.avg_pool2d %x kernel [3, 3] pads [1, 1, 1, 1] count_include_pad : tensor<1x4x9x9xf32>
  %4 = glow.arg_max_pool2d %x kernel [2, 2] strides [2, 2] : tensor<1x4x4x4xi64>
  func.return
}

// CHECK-LABEL: func.func @products(
// CHECK-NEXT: %0 = glow.matmul %x, %y : tensor<2x4xf32>
// CHECK-NEXT: %1 = glow.matmul %t, %z transpose_rhs : tensor<5x1x2x4xf32>
// CHECK-NEXT: %2 = glow.fully_connected %x, %y, %b activation "clip" activation_args [0.000000e+00, 6.000000e+00] : tensor<2x4xf32>
// CHECK-NEXT: %3 = glow.fully_connected %x, %y : tensor<2x4xf32>
// CHECK-NEXT: %4 = glow.gemm %x, %z, %b alpha 2.000000e+00 beta 5.000000e-01 transpose_rhs : tensor<2x4xf32>
// CHECK-NEXT: func.return
func.func @products(%x: tensor<2x3xf32>, %y: tensor<3x4xf32>, %z: tensor<4x3xf32>, %b: tensor<4xf32>, %t: tensor<5x1x2x3xf32>) {
  %0 = glow.matmul %x, %y : tensor<2x4xf32>
  %1 = glow.matmul %t, %z transpose_rhs : tensor<5x1x2x4xf32>
  %2 = glow.fully_connected %x, %y, %b activation "clip" activation_args [0.0, 6.0] : tensor<2x4xf32>
  %3 = glow.fully_connected %x, %y : tensor<2x4xf32>
  %4 = glow.gemm %x, %z, %b alpha 2.0 beta 0.5 transpose_rhs : tensor<2x4xf32>
  func.return
}

// CHECK-LABEL: func.func @attention(
// CHECK-NEXT: %0 = glow.attention %q, %k, %v : tensor<2x3x4x6xf32>
// CHECK-NEXT: %1 = glow.attention %q, %k, %v, %m scale 5.000000e-01 : tensor<2x3x4x6xf32>
// CHECK-NEXT: func.return
func.func @attention(%q: tensor<2x3x4x8xf32>, %k: tensor<2x1x5x8xf32>, %v: tensor<2x3x5x6xf32>, %m: tensor<2x1x1x5xf32>) {
  %0 = glow.attention %q, %k, %v : tensor<2x3x4x6xf32>
  %1 = glow.attention %q, %k, %v, %m scale 0.5 : tensor<2x3x4x6xf32>
  func.return
}

// CHECK-LABEL: func.func @normalizations(
// CHECK-NEXT: %0 = glow.batch_norm %x, %c, %c, %c, %c epsilon 1.250000e-01 : tensor<1x4x3x3xf32>
// CHECK-NEXT: %1 = glow.layer_norm %x, %r, %r axis 3 : tensor<1x4x3x3xf32>
// CHECK-NEXT: %2 = glow.local_response_norm %x size 5 beta 5.000000e-01 offset 2.000000e+00 : tensor<1x4x3x3xf32>
// CHECK-NEXT: %3 = glow.softmax %x axis 1 : tensor<1x4x3x3xf32>
// CHECK-NEXT: %4 = glow.log_softmax %x axis 3 : tensor<1x4x3x3xf32>
// CHECK-NEXT: func.return
func.func @normalizations(%x: tensor<1x4x3x3xf32>, %c: tensor<4xf32>, %r: tensor<3xf32>) {
  %0 = glow.batch_norm %x, %c, %c, %c, %c epsilon 0.125 : tensor<1x4x3x3xf32>
  %1 = glow.layer_norm %x, %r, %r axis 3 : tensor<1x4x3x3xf32>
  %2 = glow.local_response_norm %x size 5 beta 0.5 offset 2.0 : tensor<1x4x3x3xf32>
  %3 = glow.softmax %x axis 1 : tensor<1x4x3x3xf32>
  %4 = glow.log_softmax %x axis 3 : tensor<1x4x3x3xf32>
  func.return
}

// CHECK-LABEL: func.func @reductions(
// CHECK-NEXT: %0 = glow.reduce_sum %x axes [1] : tensor<2x4xf32>
// CHECK-NEXT: %1 = glow.reduce_mean %x axes [0, 2] keepdims : tensor<1x3x1xf32>
// CHECK-NEXT: %2 = glow.reduce_max %x axes [0, 1, 2] : tensor<f32>
// CHECK-NEXT: %3 = glow.reduce_min %x axes [2] : tensor<2x3xf32>
// CHECK-NEXT: %4 = glow.reduce_prod %x axes [2] : tensor<2x3xf32>
// CHECK-NEXT: %5 = glow.arg_max %x axis 1 keepdims : tensor<2x1x4xi64>
// CHECK-NEXT: %6 = glow.arg_min %x axis 2 select_last : tensor<2x3xi64>
// CHECK-NEXT: func.return
func.func @reductions(%x: tensor<2x3x4xf32>) {
  %0 = glow.reduce_sum %x axes [1] : tensor<2x4xf32>
  %1 = glow.reduce_mean %x axes [0, 2] keepdims : tensor<1x3x1xf32>
  %2 = glow.reduce_max %x axes [0, 1, 2] : tensor<f32>
  %3 = glow.reduce_min %x axes [2] : tensor<2x3xf32>
  %4 = glow.reduce_prod %x axes [2] : tensor<2x3xf32>
  %5 = glow.arg_max %x axis 1 keepdims : tensor<2x1x4xi64>
  %6 = glow.arg_min %x axis 2 select_last : tensor<2x3xi64>
  func.return
}

// CHECK-LABEL: func.func @samples(
// CHECK-NEXT: %0 = glow.sample %x, %i, %w axis 1 : tensor<2x4x5xf32>
// CHECK-NEXT: %1 = glow.sample %x, %j, %v axis 1 largest : tensor<2x1x5xf32>
// CHECK-NEXT: func.return
func.func @samples(%x: tensor<2x3x5xf32>, %i: tensor<4x2xi64>, %w: tensor<4x2xf32>, %j: tensor<2x1x3xi32>, %v: tensor<2x1x3xf32>) {
  %0 = glow.sample %x, %i, %w axis 1 : tensor<2x4x5xf32>
  %1 = glow.sample %x, %j, %v axis 1 largest : tensor<2x1x5xf32>
  func.return
}

// CHECK-LABEL: func.func @moves(
// CHECK-NEXT: %0 = glow.reshape %x : tensor<6xf32>
// CHECK-NEXT: %1 = glow.transpose %x permutation [1, 0] : tensor<3x2xf32>
// CHECK-NEXT: %2 = glow.concat %x, %x, %x axis 0 : tensor<6x3xf32>
// CHECK-NEXT: %3 = glow.slice %x starts [1, 2] sizes [1, 3] steps [1, -1] : tensor<1x3xf32>
// CHECK-NEXT: %4 = glow.pad %x pads [1, 0, 0, -1] value 2.000000e+00 : tensor<3x2xf32>
// CHECK-NEXT: %5 = glow.pad %x pads [0, 1, 0, 1] mode "reflect" : tensor<2x5xf32>
// CHECK-NEXT: %6 = glow.broadcast %x : tensor<4x2x3xf32>
// CHECK-NEXT: %7 = glow.tile %x repeats [1, 2] : tensor<2x6xf32>
// CHECK-NEXT: %8 = glow.gather %x, %i axis 1 : tensor<2x4x1xf32>
// CHECK-NEXT: %9 = glow.dynamic_slice %x, %n : tensor<3xf32>
// CHECK-NEXT: %10 = glow.dynamic_update %x, %9, %n : tensor<2x3xf32>
// CHECK-NEXT: %11 = glow.gather_elements %x, %j axis 1 : tensor<1x5xf32>
// CHECK-NEXT: %12 = glow.lengths_sum %x, %l : tensor<4x3xf32>
// CHECK-NEXT: %13 = glow.lengths_max %x, %l : tensor<4x3xf32>
// CHECK-NEXT: func.return
func.func @moves(%x: tensor<2x3xf32>, %i: tensor<4x1xi64>, %j: tensor<1x5xi64>, %l: tensor<4xi64>, %n: index) {
  %0 = glow.reshape %x : tensor<6xf32>
  %1 = glow.transpose %x permutation [1, 0] : tensor<3x2xf32>
  %2 = glow.concat %x, %x, %x axis 0 : tensor<6x3xf32>
  %3 = glow.slice %x starts [1, 2] sizes [1, 3] steps [1, -1] : tensor<1x3xf32>
  %4 = glow.pad %x pads [1, 0, 0, -1] value 2.0 : tensor<3x2xf32>
  %5 = glow.pad %x pads [0, 1, 0, 1] mode "reflect" : tensor<2x5xf32>
  %6 = glow.broadcast %x : tensor<4x2x3xf32>
  %7 = glow.tile %x repeats [1, 2] : tensor<2x6xf32>
  %8 = glow.gather %x, %i axis 1 : tensor<2x4x1xf32>
  %9 = glow.dynamic_slice %x, %n : tensor<3xf32>
  %10 = glow.dynamic_update %x, %9, %n : tensor<2x3xf32>
  %11 = glow.gather_elements %x, %j axis 1 : tensor<1x5xf32>
  %12 = glow.lengths_sum %x, %l : tensor<4x3xf32>
  %13 = glow.lengths_max %x, %l : tensor<4x3xf32>
  func.return
}

// CHECK-LABEL: func.func @lstm(
// CHECK-NEXT: %0, %1, %2 = glow.lstm %x, %w, %r, %b, %h, %h direction "bidirectional" : tensor<5x2x1x3xf32>, tensor<2x1x3xf32>, tensor<2x1x3xf32>
// CHECK-NEXT: func.return
func.func @lstm(%x: tensor<5x1x2xf32>, %w: tensor<2x12x2xf32>, %r: tensor<2x12x3xf32>, %b: tensor<2x24xf32>, %h: tensor<2x1x3xf32>) {
  %0, %1, %2 = glow.lstm %x, %w, %r, %b, %h, %h direction "bidirectional" : tensor<5x2x1x3xf32>, tensor<2x1x3xf32>, tensor<2x1x3xf32>
  func.return
}

// CHECK-LABEL: func.func @recurrent(
// CHECK-NEXT: glow.gru %x, %w, %r, %b, %h linear_before_reset direction "reverse" : tensor<5x1x1x3xf32>, tensor<1x1x3xf32>
// CHECK-NEXT: glow.rnn %x, %v, %q, %d, %h activation "relu" : tensor<5x1x1x3xf32>, tensor<1x1x3xf32>
func.func @recurrent(%x: tensor<5x1x2xf32>, %w: tensor<1x9x2xf32>, %r: tensor<1x9x3xf32>, %b: tensor<1x18xf32>, %v: tensor<1x3x2xf32>, %q: tensor<1x3x3xf32>, %d: tensor<1x6xf32>, %h: tensor<1x1x3xf32>) {
  %0, %1 = glow.gru %x, %w, %r, %b, %h linear_before_reset direction "reverse" : tensor<5x1x1x3xf32>, tensor<1x1x3xf32>
  %2, %3 = glow.rnn %x, %v, %q, %d, %h activation "relu" : tensor<5x1x1x3xf32>, tensor<1x1x3xf32>
  func.return
}

// Infinite properties.
// CHECK-LABEL: func.func @infinite(
// CHECK-NEXT: glow.pad %x pads [1, 0] value -inf : tensor<4xf32>
// CHECK-NEXT: glow.pad %x pads [1, 0] value inf : tensor<4xf32>
// CHECK-NEXT: glow.clip %x low -2.500000e+00 : tensor<3xf32>
func.func @infinite(%x: tensor<3xf32>) -> tensor<4xf32> {
  %0 = glow.pad %x pads [1, 0] value -inf : tensor<4xf32>
  %1 = glow.pad %x pads [1, 0] value inf : tensor<4xf32>
  %2 = glow.clip %x low -2.5 high inf : tensor<3xf32>
  func.return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @other_convolutions(
// CHECK-NEXT: %0 = glow.conv3d %x, %w, %b strides [1, 2, 2] pads [1, 0, 0, 1, 0, 0] group 2 : tensor<1x8x5x4x4xf32>
// CHECK-NEXT: %1 = glow.conv_transpose2d %y, %v strides [2, 2] pads [1, 1, 1, 1] output_padding [1, 1] : tensor<1x6x10x12xf32>
// CHECK-NEXT: %2 = glow.conv_transpose3d %x, %u strides [1, 2, 3] output_padding [0, 1, 2] group 2 : tensor<1x6x5x18x29xf32>
// CHECK-NEXT: func.return
func.func @other_convolutions(%x: tensor<1x4x5x9x9xf32>, %w: tensor<8x2x3x3x3xf32>, %b: tensor<8xf32>, %y: tensor<1x4x5x6xf32>, %v: tensor<4x6x3x3xf32>, %u: tensor<4x3x1x1x3xf32>) {
  %0 = glow.conv3d %x, %w, %b strides [1, 2, 2] pads [1, 0, 0, 1, 0, 0] group 2 : tensor<1x8x5x4x4xf32>
  %1 = glow.conv_transpose2d %y, %v strides [2, 2] pads [1, 1, 1, 1] output_padding [1, 1] : tensor<1x6x10x12xf32>
  %2 = glow.conv_transpose3d %x, %u strides [1, 2, 3] output_padding [0, 1, 2] group 2 : tensor<1x6x5x18x29xf32>
  func.return
}

// CHECK-LABEL: func.func @fake_quantize(
// CHECK-NEXT: %0 = glow.fake_quantize %x, %s low 0 high 255 : tensor<3x4xf32>
// CHECK-NEXT: %1 = glow.fake_quantize %x, %s, %z low 0 high 255 : tensor<3x4xf32>
// CHECK-NEXT: %2 = glow.fake_quantize %x, %each low -127 high 127 axis 0 : tensor<3x4xf32>
// CHECK-NEXT: func.return
func.func @fake_quantize(%x: tensor<3x4xf32>, %s: tensor<f32>, %z: tensor<f32>, %each: tensor<3xf32>) {
  %0 = glow.fake_quantize %x, %s low 0 high 255 : tensor<3x4xf32>
  %1 = glow.fake_quantize %x, %s, %z low 0 high 255 : tensor<3x4xf32>
  %2 = glow.fake_quantize %x, %each low -127 high 127 axis 0 : tensor<3x4xf32>
  func.return
}
