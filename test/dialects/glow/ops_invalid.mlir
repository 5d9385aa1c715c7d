// RUN: glow-opt %s --verify-diagnostics --split-input-file

func.func @broadcast(%x: tensor<2x3xf32>, %y: tensor<4xf32>) {
  // expected-error @+1 {{operands do not broadcast: shapes 2x3, 4}}
  %0 = glow.add %x, %y : tensor<2x4xf32>
  func.return
}

// -----

func.func @element_types(%x: tensor<4xf32>, %y: tensor<4xi32>) {
  // expected-error @+1 {{operands must have one element type, not f32, i32}}
  %0 = glow.add %x, %y : tensor<4xf32>
  func.return
}

// -----

func.func @result_type(%x: tensor<4xf32>) {
  // expected-error @+1 {{result 0 has type tensor<5xf32>, but operands and attributes give tensor<4xf32>}}
  %0 = glow.neg %x : tensor<5xf32>
  func.return
}

// -----

func.func @float_function(%x: tensor<4xi32>) {
  // expected-error @+1 {{glow.exp needs floating-point elements, not i32}}
  %0 = glow.exp %x : tensor<4xi32>
  func.return
}

// -----

func.func @logic(%x: tensor<4xi32>) {
  // expected-error @+1 {{glow.and needs i1 elements}}
  %0 = glow.and %x, %x : tensor<4xi1>
  func.return
}

// -----

func.func @condition(%x: tensor<4xf32>) {
  // expected-error @+1 {{the condition must have i1 elements, not f32}}
  %0 = glow.select %x, %x, %x : tensor<4xf32>
  func.return
}

// -----

func.func @dynamic(%x: tensor<?xf32>) {
  // expected-error @+1 {{operand 0 must be a tensor of static shape}}
  %0 = glow.neg %x : tensor<?xf32>
  func.return
}

// -----

func.func @channels(%x: tensor<1x3x8x8xf32>, %w: tensor<4x2x3x3xf32>) {
  // expected-error @+1 {{input channels (3) must be group (1) times the weights' channels (2)}}
  %0 = glow.conv2d %x, %w : tensor<1x4x6x6xf32>
  func.return
}

// -----

func.func @window(%x: tensor<1x3x2x2xf32>, %w: tensor<4x3x3x3xf32>) {
  // expected-error @+1 {{the window of 3 is larger than the padded input of 2}}
  %0 = glow.conv2d %x, %w : tensor<1x4x1x1xf32>
  func.return
}

// -----

func.func @strides(%x: tensor<1x3x4x4xf32>) {
  // expected-error @+1 {{strides needs 2 numbers, not 1}}
  %0 = glow.max_pool2d %x kernel [2, 2] strides [1] : tensor<1x3x3x3xf32>
  func.return
}

// -----

func.func @places(%x: tensor<1x3x4x4x16xf32>) {
  // expected-error @+1 {{the input must have rank 4, not 5}}
  %0 = glow.arg_max_pool2d %x kernel [2, 2] : tensor<1x3x3x3xi64>
  func.return
}

// -----

func.func @activation(%x: tensor<1x3xf32>, %w: tensor<3x4xf32>) {
  // expected-error @+1 {{unknown activation 'swish', expected one of relu}}
  %0 = glow.fully_connected %x, %w activation "swish" : tensor<1x4xf32>
  func.return
}

// -----

func.func @bias(%x: tensor<1x3xf32>, %w: tensor<3x4xf32>, %b: tensor<3xf32>) {
  // expected-error @+1 {{the bias must have shape 4}}
  %0 = glow.fully_connected %x, %w, %b : tensor<1x4xf32>
  func.return
}

// -----

func.func @inner_sizes(%x: tensor<2x3xf32>, %y: tensor<4x5xf32>) {
  // expected-error @+1 {{the inner sizes must agree: tensor<2x3xf32> has 3, tensor<4x5xf32> has 4}}
  %0 = glow.matmul %x, %y : tensor<2x5xf32>
  func.return
}

// -----

func.func @axis(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{axis 2 is outside of rank 2}}
  %0 = glow.softmax %x axis 2 : tensor<2x3xf32>
  func.return
}

// -----

func.func @axes(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{axes must be sorted: [1, 0]}}
  %0 = glow.reduce_sum %x axes [1, 0] : tensor<f32>
  func.return
}

// -----

func.func @parameters(%x: tensor<1x3x2x2xf32>, %c: tensor<4xf32>) {
  // expected-error @+1 {{scale must have shape 3}}
  %0 = glow.batch_norm %x, %c, %c, %c, %c : tensor<1x3x2x2xf32>
  func.return
}

// -----

func.func @elements(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{a reshape keeps the elements: tensor<2x3xf32> to tensor<7xf32>}}
  %0 = glow.reshape %x : tensor<7xf32>
  func.return
}

// -----

func.func @permutation(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{[0, 0] is not a permutation of 2 axes}}
  %0 = glow.transpose %x permutation [0, 0] : tensor<2x2xf32>
  func.return
}

// -----

func.func @pieces(%x: tensor<2x3xf32>, %y: tensor<2x4xf32>) {
  // expected-error @+1 {{concat along axis 0 cannot join tensor<2x3xf32> and tensor<2x4xf32>}}
  %0 = glow.concat %x, %y axis 0 : tensor<4x3xf32>
  func.return
}

// -----

func.func @bounds(%x: tensor<4xf32>) {
  // expected-error @+1 {{the slice [2, 3, 1] leaves axis 0 of size 4}}
  %0 = glow.slice %x starts [2] sizes [3] steps [1] : tensor<3xf32>
  func.return
}

// -----

func.func @mode(%x: tensor<4xf32>) {
  // expected-error @+1 {{unknown mode 'mirror', expected constant, edge, reflect, wrap}}
  %0 = glow.pad %x pads [1, 1] mode "mirror" : tensor<6xf32>
  func.return
}

// -----

func.func @indices(%x: tensor<4xf32>, %i: tensor<2xf32>) {
  // expected-error @+1 {{indices must be integers}}
  %0 = glow.gather %x, %i : tensor<2xf32>
  func.return
}

// -----

func.func @no_bags(%x: tensor<4x2xf32>, %l: tensor<0xi64>) {
  // expected-error @+1 {{no bag takes the 4 rows}}
  %0 = glow.lengths_sum %x, %l : tensor<0x2xf32>
  func.return
}

// -----

func.func @lengths(%x: tensor<4x2xf32>, %l: tensor<2xf32>) {
  // expected-error @+1 {{lengths must be integers along one axis}}
  %0 = glow.lengths_sum %x, %l : tensor<2x2xf32>
  func.return
}

// -----

func.func @bag_rows(%x: tensor<4x2xi32>, %l: tensor<2xi64>) {
  // expected-error @+1 {{rows must be f32 with at least one axis}}
  %0 = glow.lengths_sum %x, %l : tensor<2x2xf32>
  func.return
}

// -----

func.func @target(%x: tensor<3xf32>) {
  // expected-error @+1 {{operands do not broadcast: shapes 3, 3x2}}
  %0 = glow.broadcast %x : tensor<3x2xf32>
  func.return
}

// -----

func.func @direction(%x: tensor<5x1x2xf32>, %w: tensor<1x12x2xf32>, %r: tensor<1x12x3xf32>, %b: tensor<1x24xf32>, %h: tensor<1x1x3xf32>) {
  // expected-error @+1 {{unknown direction 'sideways'}}
  %0, %1, %2 = glow.lstm %x, %w, %r, %b, %h, %h direction "sideways" : tensor<5x1x1x3xf32>, tensor<1x1x3xf32>, tensor<1x1x3xf32>
  func.return
}

// -----

func.func @activation(%x: tensor<5x1x2xf32>, %w: tensor<1x3x2xf32>, %r: tensor<1x3x3xf32>, %b: tensor<1x6xf32>, %h: tensor<1x1x3xf32>) {
  // expected-error @+1 {{unknown activation 'softmax', expected tanh, relu, sigmoid}}
  %0, %1 = glow.rnn %x, %w, %r, %b, %h activation "softmax" : tensor<5x1x1x3xf32>, tensor<1x1x3xf32>
  func.return
}

// -----

func.func @states(%x: tensor<5x1x2xf32>, %w: tensor<1x9x2xf32>, %r: tensor<1x9x3xf32>, %b: tensor<1x18xf32>, %h: tensor<1x1x3xf32>) {
  // expected-error @+1 {{gru operands have ranks 3, 3, 3, 2, 3}}
  %0, %1 = glow.gru %x, %w, %r, %b, %h, %h : tensor<5x1x1x3xf32>, tensor<1x1x3xf32>
  func.return
}

// -----

func.func @region_captures(%x: tensor<4xf32>) {
  %zero = arith.constant 0.0 : f32
  // expected-error @+1 {{the region must use its own values only}}
  %0 = glow.fused %x {
  ^bb0(%s: f32):
    %m = arith.maximumf %s, %zero : f32
    glow.yield %m
  } : tensor<4xf32>
  func.return
}

// -----

func.func @region(%x: tensor<4xf32>) {
  // expected-error @+1 {{the region must take the operands' element types f32}}
  %0 = glow.fused %x {
  ^bb0(%s: f64):
    glow.yield %s
  } : tensor<4xf32>
  func.return
}

// -----

func.func @missing_attribute(%x: tensor<4xf32>) {
  // expected-error @+1 {{glow.softmax needs the attribute 'axis'}}
  %0 = glow.softmax %x : tensor<4xf32>
  func.return
}

// -----

func.func @too_many(%x: tensor<4xf32>) {
  // expected-error @+1 {{glow.neg has 2 operands, too many}}
  %0 = glow.neg %x, %x : tensor<4xf32>
  func.return
}

// -----

func.func @before_definition(%x: tensor<4xf32>) {
  // expected-error @+1 {{value %y is used before it is defined}}
  %0 = glow.neg %y : tensor<4xf32>
  %y = glow.neg %x : tensor<4xf32>
  func.return
}

// -----

func.func @rounded_twice(%x: tensor<2x3xf32>, %w: tensor<3x2xf32>) {
  // expected-error @+1 {{result 0 has type tensor<2x2xbf16>, but operands and attributes give tensor<2x2xf32>}}
  %0 = glow.matmul %x, %w : tensor<2x2xbf16>
  func.return
}

// -----

func.func @sums_of_halves(%x: tensor<2x3xbf16>, %w: tensor<3x2xbf16>) {
  // expected-error @+1 {{result 0 has type tensor<2x2xf16>, but operands and attributes give tensor<2x2xbf16>}}
  %0 = glow.matmul %x, %w : tensor<2x2xf16>
  func.return
}

// -----

func.func @volume_channels(%x: tensor<1x3x8x8x8xf32>, %w: tensor<4x2x3x3x3xf32>) {
  // expected-error @+1 {{3 input channels do not suit weights for 2 in 1 groups with 4 outputs}}
  %0 = glow.conv3d %x, %w : tensor<1x4x6x6x6xf32>
  func.return
}

// -----

func.func @volume_pads(%x: tensor<1x3x8x8x8xf32>, %w: tensor<4x3x3x3x3xf32>) {
  // expected-error @+1 {{pads needs 6 numbers, not 4}}
  %0 = glow.conv3d %x, %w pads [1, 1, 1, 1] : tensor<1x4x6x6x6xf32>
  func.return
}

// -----

func.func @transposed_pads(%x: tensor<1x3x2x2xf32>, %w: tensor<3x4x2x2xf32>) {
  // expected-error @+1 {{pads [2, 0, 2, 0] cut off more than the output's 3}}
  %0 = glow.conv_transpose2d %x, %w pads [2, 0, 2, 0] : tensor<1x4x1x3xf32>
  func.return
}

// -----

func.func @output_padding(%x: tensor<1x3x2x2xf32>, %w: tensor<3x4x2x2xf32>) {
  // expected-error @+1 {{output_padding must be less than the stride or the dilation, not 2}}
  %0 = glow.conv_transpose2d %x, %w strides [2, 2] output_padding [2, 0] : tensor<1x4x6x4xf32>
  func.return
}

// -----

func.func @attention_of_integers(%q: tensor<4x8xi32>) {
  // expected-error @+1 {{glow.attention needs floating-point elements, not i32}}
  %0 = glow.attention %q, %q, %q : tensor<4x8xi32>
  func.return
}

// -----

func.func @attention_of_halves(%q: tensor<4x8xf32>, %k: tensor<4x8xf16>) {
  // expected-error @+1 {{operands must have one element type, not f32, f16, f32}}
  %0 = glow.attention %q, %k, %q : tensor<4x8xf32>
  func.return
}

// -----

func.func @attention_of_a_vector(%q: tensor<4x8xf32>, %v: tensor<4xf32>) {
  // expected-error @+1 {{attention needs operands of rank 2 or more, not tensor<4xf32>}}
  %0 = glow.attention %q, %q, %v : tensor<4x8xf32>
  func.return
}

// -----

func.func @keys_of_another_size(%q: tensor<4x8xf32>, %k: tensor<4x7xf32>) {
  // expected-error @+1 {{queries and keys must have one size: tensor<4x8xf32> has 8, tensor<4x7xf32> has 7}}
  %0 = glow.attention %q, %k, %q : tensor<4x8xf32>
  func.return
}

// -----

func.func @missing_values(%q: tensor<4x8xf32>, %v: tensor<3x8xf32>) {
  // expected-error @+1 {{there must be a value for each key: tensor<4x8xf32> has 4, tensor<3x8xf32> has 3}}
  %0 = glow.attention %q, %q, %v : tensor<4x8xf32>
  func.return
}

// -----

func.func @mask_of_a_batch(%q: tensor<4x8xf32>, %m: tensor<2x4x4xf32>) {
  // expected-error @+1 {{the mask tensor<2x4x4xf32> must broadcast to the scores' 4x4}}
  %0 = glow.attention %q, %q, %q, %m : tensor<4x8xf32>
  func.return
}

// -----

func.func @negative_truth(%x: tensor<4xi1>) {
  // expected-error @+1 {{glow.neg needs numbers, not i1}}
  %0 = glow.neg %x : tensor<4xi1>
  func.return
}

// -----

func.func @sign_of_truth(%x: tensor<4xi1>) {
  // expected-error @+1 {{glow.sign needs numbers, not i1}}
  %0 = glow.sign %x : tensor<4xi1>
  func.return
}

// -----

func.func @three_paddings(%x: tensor<1x2x3x3x3xf32>, %w: tensor<2x4x2x2x2xf32>) {
  // expected-error @+1 {{output_padding needs 3 numbers, not 2}}
  %0 = glow.conv_transpose3d %x, %w output_padding [0, 0] : tensor<1x4x4x4x4xf32>
  func.return
}

// -----

func.func @sample_places(%x: tensor<2x3xf32>, %i: tensor<4x1xui8>, %w: tensor<4x1xf32>) {
  // expected-error @+1 {{places must be i32 or i64, not tensor<4x1xui8>}}
  %0 = glow.sample %x, %i, %w axis 1 : tensor<2x4xf32>
  func.return
}

// -----

func.func @sample_weights(%x: tensor<2x3xf32>, %i: tensor<4x1xi64>, %w: tensor<4xf32>) {
  // expected-error @+1 {{weights must have elements f32 and the shape of the places tensor<4x1xi64>, not tensor<4xf32>}}
  %0 = glow.sample %x, %i, %w axis 1 : tensor<2x4xf32>
  func.return
}

// -----

func.func @sample_tables(%x: tensor<2x3xf32>, %i: tensor<5x4x1xi64>, %w: tensor<5x4x1xf32>) {
  // expected-error @+1 {{are neither a table nor one for each part of tensor<2x3xf32> before axis 1}}
  %0 = glow.sample %x, %i, %w axis 1 : tensor<2x4xf32>
  func.return
}

// -----

func.func @sample_nothing(%x: tensor<2x3xf32>, %i: tensor<4x0xi64>, %w: tensor<4x0xf32>) {
  // expected-error @+1 {{each result needs a place at least: tensor<4x0xi64>}}
  %0 = glow.sample %x, %i, %w axis 1 : tensor<2x4xf32>
  func.return
}

// -----

func.func @small_elements(%x: tensor<4xf8E5M2>) {
  // expected-error @+1 {{glow.add does not compute on f8E5M2 elements, which are only stored; convert them before}}
  %0 = glow.add %x, %x : tensor<4xf8E5M2>
  func.return
}

// -----

func.func @unknown_rounding(%x: tensor<4xf32>) {
  // expected-error @+1 {{round_mode "away" is none of "nearest", "up", "down"}}
  %0 = glow.convert %x round_mode "away" : tensor<4xf8E8M0FNU>
  func.return
}

// -----

func.func @rounding_of_others(%x: tensor<4xf32>) {
  // expected-error @+1 {{round_mode "up" is for f8E8M0FNU, not f8E5M2}}
  %0 = glow.convert %x round_mode "up" : tensor<4xf8E5M2>
  func.return
}

// -----

func.func @fake_quantize_range(%x: tensor<3xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{the range 7 to 7 must rise and lie in -2147483648 to 2147483647}}
  %0 = glow.fake_quantize %x, %s low 7 high 7 : tensor<3xf32>
  func.return
}

// -----

func.func @fake_quantize_scale(%x: tensor<3x4xf32>, %s: tensor<3xf32>) {
  // expected-error @+1 {{the scale must have type tensor<4xf32>, not tensor<3xf32>}}
  %0 = glow.fake_quantize %x, %s low -8 high 7 axis 1 : tensor<3x4xf32>
  func.return
}

// -----

func.func @fake_quantize_point(%x: tensor<3x4xf32>, %s: tensor<f32>, %z: tensor<i32>) {
  // expected-error @+1 {{the zero point must have type tensor<f32>, not tensor<i32>}}
  %0 = glow.fake_quantize %x, %s, %z low -8 high 7 : tensor<3x4xf32>
  func.return
}

// -----

func.func @fake_quantize_integers(%x: tensor<3xi32>, %s: tensor<i32>) {
  // expected-error @+1 {{glow.fake_quantize needs floating-point elements, not i32}}
  %0 = glow.fake_quantize %x, %s low -8 high 7 : tensor<3xi32>
  func.return
}
