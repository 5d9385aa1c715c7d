// RUN: glow-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{the storage type must be like i8 or u8, not f8}}
func.func @storage(%x: tensor<2x!quant.uniform<f8:f32, 0.5>>) { func.return }

// -----

// expected-error @below {{the storage type must have 1 to 32 bits, not 64}}
func.func @bits(%x: tensor<2x!quant.uniform<i64:f32, 0.5>>) { func.return }

// -----

// expected-error @below {{the expressed type must be floating point, not i32}}
func.func @expressed(%x: tensor<2x!quant.uniform<i8:i32, 0.5>>) { func.return }

// -----

// expected-error @below {{the storage range -129:127 must lie in -128:127}}
func.func @range(%x: tensor<2x!quant.uniform<i8<-129:127>:f32, 0.5>>) { func.return }

// -----

// expected-error @below {{scales must be positive and finite, not 0.0}}
func.func @scale(%x: tensor<2x!quant.uniform<i8:f32, 0.0>>) { func.return }

// -----

// expected-error @below {{the zero point 200 is outside of the storage range -128:127}}
func.func @zero_point(%x: tensor<2x!quant.uniform<i8:f32, 0.5:200>>) { func.return }

// -----

func.func @shapes(%x: tensor<4xf32>) {
  // expected-error @below {{shapes must agree}}
  %q = quant.qcast %x : tensor<4xf32> to tensor<5x!quant.uniform<i8:f32, 0.5>>
  func.return
}

// -----

func.func @not_quantized(%x: tensor<4xf32>) {
  // expected-error @below {{must have quantized elements}}
  %q = quant.qcast %x : tensor<4xf32> to tensor<4xi8>
  func.return
}

// -----

func.func @expresses(%x: tensor<4xf64>) {
  // expected-error @below {{expresses f32, not f64}}
  %q = quant.qcast %x : tensor<4xf64> to tensor<4x!quant.uniform<i8:f32, 0.5>>
  func.return
}

// -----

func.func @axis(%x: tensor<4x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) {
  // expected-error @below {{has 4 indices but 2 scales}}
  %q = quant.dcast %x : tensor<4x!quant.uniform<i8:f32:0, {0.5, 0.25}>> to tensor<4xf32>
  func.return
}

// -----

func.func @storage_cast(%x: tensor<4xi8>) {
  // expected-error @below {{scast connects quantized and stored elements}}
  %q = quant.scast %x : tensor<4xi8> to tensor<4xi8>
  func.return
}

// -----

func.func @unsigned(%x: tensor<4x!quant.uniform<u8:f32, 0.5>>) {
  // expected-error @below {{quant.scast does not connect tensor<4x!quant.uniform<u8:f32, 5.000000e-01>> and tensor<4xui8>; glow.scast does}}
  %s = quant.scast %x : tensor<4x!quant.uniform<u8:f32, 0.5>> to tensor<4xui8>
  func.return
}
