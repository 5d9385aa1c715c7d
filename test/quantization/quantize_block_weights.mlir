// RUN: glow-opt --quantize='activations=float weights=int4' %s | filecheck %s
// RUN: glow-opt --quantize='activations=per-block weights=int4 keep=kept' %s | filecheck %s --check-prefix ROUNDED
// RUN: glow-opt --quantize='activations=float' %s | filecheck %s --check-prefix BYTES
// RUN: not glow-opt --quantize='weights=int4' %s 2>&1 | filecheck %s --check-prefix SCALES
// RUN: not glow-opt --quantize='activations=float weights=int3' %s 2>&1 | filecheck %s --check-prefix CHOICES

// A block's number of the largest size is the least code: -8 * -0.25 is 2. Nothing else is quantized.
// CHECK-LABEL: @main
// CHECK: %[[Q:.*]] = glow.constant dense<{{\[\[}}-4, 0], [2, 0], [-8, 0], [-6, 0], [0, 0], [0, 0], [0, 0], [0, 0]]> : tensor<8x2xi4>
// CHECK-NEXT: %[[S:.*]] = glow.constant dense<{{\[\[}}-2.500000e-01, 1.000000e+00]]> : tensor<1x2xf32>
// CHECK-NEXT: %[[W:.*]] = glow.block_dequantize %[[Q]], %[[S]] block_size 32 : tensor<8x2xf32>
// CHECK-NEXT: %y = glow.fully_connected %x, %[[W]] activation "relu" : tensor<3x2xf32>
// CHECK: glow.block_dequantize
// CHECK-NEXT: %kept = glow.matmul %x
// ROUNDED: glow.block_dequantize %{{.*}}, %{{.*}} block_size 32 row_bits 8 : tensor<8x2xf32>
// ROUNDED-NOT: block_dequantize
// ROUNDED: %kept = glow.matmul %x
// BYTES: glow.constant dense<{{\[\[}}-64, 0], [32, 0], [-128, 0], [-96, 0],
// SCALES: error: pass 'quantize': weights=int4 need scales of blocks; activations=float, or per-block
// CHOICES: error: pass 'quantize': unknown weights 'int3'; one of int8, int4
func.func @main(%x: tensor<3x8xf32>) -> (tensor<3x2xf32>, tensor<3x2xf32>) {
  %w = glow.constant dense<[[1.0, 0.0], [-0.5, 0.0], [2.0, 0.0], [1.5, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]> : tensor<8x2xf32>
  %y = glow.fully_connected %x, %w activation "relu" : tensor<3x2xf32>
  %v = glow.splat 3.0 : tensor<8x2xf32>
  %kept = glow.matmul %x, %v : tensor<3x2xf32>
  func.return %y, %kept : tensor<3x2xf32>, tensor<3x2xf32>
}

// A depth that fills no words, and products of activations, stay.
// CHECK-LABEL: @others
// CHECK-NOT: block_dequantize
// CHECK: func.return
func.func @others(%x: tensor<3x7xf32>, %z: tensor<7x8xf32>) -> (tensor<3x2xf32>, tensor<3x8xf32>) {
  %w = glow.splat 3.0 : tensor<7x2xf32>
  %y = glow.matmul %x, %w : tensor<3x2xf32>
  %p = glow.matmul %x, %z : tensor<3x8xf32>
  func.return %y, %p : tensor<3x2xf32>, tensor<3x8xf32>
}
