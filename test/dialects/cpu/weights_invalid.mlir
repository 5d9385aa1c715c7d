// RUN: glow-opt %s --verify-diagnostics --split-input-file

func.func @packed_groups(%w: tensor<20x16x3x3xf32>) {
  // expected-error @+1 {{group (3) must divide the weights' first axis (20)}}
  %0 = cpu.pack_weights %w group 3 input_lanes 16 panels #cpu.panels<blocks = 1, lanes = 16> : tensor<4608xf32>
  func.return
}

// -----

func.func @unpacked_size(%w: tensor<4600xf32>) {
  // expected-error @+1 {{there must be 4608 packed weights, not tensor<4600xf32>}}
  %0 = cpu.unpack_weights %w lanes 16 input_lanes 16 shape [20, 16, 3, 3] : tensor<20x16x3x3xf32>
  func.return
}

// -----

func.func @unpacked_groups(%w: tensor<4608xf32>) {
  // expected-error @+1 {{group (3) must divide the outputs (20)}}
  %0 = cpu.unpack_weights %w group 3 lanes 16 input_lanes 16 shape [20, 16, 3, 3] : tensor<20x16x3x3xf32>
  func.return
}

// -----

func.func @unpacked_rank(%w: tensor<4608xf32>) {
  // expected-error @+1 {{shape needs 4 numbers, not 3}}
  %0 = cpu.unpack_weights %w lanes 16 input_lanes 16 shape [20, 16, 9] : tensor<20x16x9xf32>
  func.return
}

// -----

func.func @gradient_pixels(%x: tensor<2x1x6x6x16xf32>, %g: tensor<2x2x7x6x16xf32>) {
  // expected-error @+1 {{has more pixels than [6, 6]}}
  %0 = cpu.conv2d_weight_gradient %x, %g input_channels 16 output_channels 20 kernel [3, 3] pads [1, 1, 1, 1] : tensor<4608xf32>
  func.return
}

// -----

func.func @gradient_input(%x: tensor<3x1x6x6x16xf32>, %g: tensor<2x2x6x6x16xf32>) {
  // expected-error @+1 {{does not hold 2 images of 16 channels}}
  %0 = cpu.conv2d_weight_gradient %x, %g input_channels 16 output_channels 20 kernel [3, 3] pads [1, 1, 1, 1] : tensor<4608xf32>
  func.return
}

// -----

func.func @gradient_channels(%x: tensor<2x1x6x6x16xf32>, %g: tensor<2x1x6x6x16xf32>) {
  // expected-error @+1 {{does not hold 20 channels}}
  %0 = cpu.conv2d_weight_gradient %x, %g input_channels 16 output_channels 20 kernel [3, 3] pads [1, 1, 1, 1] : tensor<4608xf32>
  func.return
}

// -----

func.func @gradient_pads(%x: tensor<2x3x6x6xf32>, %g: tensor<2x2x6x6x16xf32>) {
  // expected-error @+1 {{a plain input must be padded before}}
  %0 = cpu.conv2d_weight_gradient %x, %g input_channels 3 output_channels 20 kernel [3, 3] pads [1, 1, 1, 1] : tensor<864xf32>
  func.return
}

// -----

func.func @gradient_groups(%x: tensor<2x2x6x6x16xf32>, %g: tensor<2x1x6x6x16xf32>) {
  // expected-error @+1 {{2 groups must be whole blocks of 16 channels}}
  %0 = cpu.conv2d_weight_gradient %x, %g input_channels 32 output_channels 16 group 2 kernel [3, 3] pads [1, 1, 1, 1] : tensor<4608xf32>
  func.return
}

// -----

func.func @turned_strides(%w: tensor<20x16x3x3xf32>) {
  // expected-error @+1 {{turned weights need 2 positive strides and as many pads}}
  %0 = cpu.pack_weights %w input_lanes 16 panels #cpu.panels<blocks = 1, lanes = 16> turned strides [0, 1] : tensor<4608xf32>
  func.return
}

// -----

func.func @turned_pads(%w: tensor<20x16x3x3xf32>) {
  // expected-error @+1 {{pads [3, 0] are larger than the kernel [3, 3]}}
  %0 = cpu.pack_weights %w input_lanes 16 panels #cpu.panels<blocks = 1, lanes = 16> turned pads [3, 0] : tensor<4608xf32>
  func.return
}
