// RUN: glow-opt %s --verify-diagnostics --split-input-file

func.func @words(%x: tensor<5xi32>) {
  // expected-error @+1 {{the result must have bytes, not tensor<5xi16>}}
  %0 = cpu.requantize %x low -128.0 high 127.0 : tensor<5xi16>
  func.return
}

// -----

func.func @shapes(%x: tensor<5xi32>, %m: tensor<2x5xf32>) {
  // expected-error @+1 {{requantize keeps the shape, not tensor<5xi32> to tensor<2x5xui8>}}
  %0 = cpu.requantize %x, %m low 0.0 high 255.0 : tensor<2x5xui8>
  func.return
}

// -----

func.func @multiplier(%x: tensor<5xi32>, %m: tensor<5xi32>) {
  // expected-error @+1 {{the multiplier must be f32, not tensor<5xi32>}}
  %0 = cpu.requantize %x, %m low 0.0 high 255.0 : tensor<5xui8>
  func.return
}

// -----

func.func @addend(%x: tensor<5xi32>, %m: tensor<5xf32>, %a: tensor<5xi32>) {
  // expected-error @+1 {{the addend must be f32, not tensor<5xi32>}}
  %0 = cpu.requantize %x, %m, %a low 0.0 high 255.0 : tensor<5xui8>
  func.return
}

// -----

func.func @no_bounds(%x: tensor<5xi32>) {
  // expected-error @+1 {{cpu.requantize needs the attribute 'low'}}
  %0 = cpu.requantize %x high 255.0 : tensor<5xui8>
  func.return
}
