// RUN: glow-opt --lower-quantized='backend=cpu' %s | filecheck %s
// RUN: glow-opt --lower-quantized %s | filecheck %s --check-prefix REFERENCE

// A row is its numbers, its scale and its zero point in one piece of memory. Numbers of four bits
// are two in a byte: 1 and 3 are 0x31, 2 and 4 are 0x42, 7 alone is 0x07.

// CHECK-LABEL: @nibbles
// CHECK: %[[T:.*]] = glow.constant dense<[[49, 66, 5, 0, 0, 0, 63, 0, 0, 64, 64], [103, 120, 9, 0, 0, 128, 62, 0, 0, 0, 0]]> : tensor<2x11xui8>
// CHECK-NEXT: cpu.embedding_lookup %[[T]], %i columns 5 bits 4 : tensor<4x5xf32>
// REFERENCE-LABEL: @nibbles
// REFERENCE: glow.constant dense<[[1, 2, 5, 3, 4], [7, 8, 9, 6, 7]]> : tensor<2x5xui8>
func.func @nibbles() -> tensor<4x5xf32> {
  %i = glow.constant dense<[0, 1, -1, -2]> : tensor<4xi64>
  %t = glow.constant dense<[[49, 66, 5], [103, 120, 9]]> : tensor<2x3xui8> as tensor<2x5x!quant.uniform<u4:f32:0, {0.5:3, 0.25}>>
  %0 = glow.gather %t, %i : tensor<4x5xf32>
  func.return %0 : tensor<4x5xf32>
}

// Signed bytes become unsigned ones, and their zero points with them: 0x43010000 is 129.

// CHECK-LABEL: @signed_bytes
// CHECK: glow.constant dense<[[127, 130, 0, 0, 0, 63, 0, 0, 1, 67]]> : tensor<1x10xui8>
// CHECK-NEXT: cpu.embedding_lookup {{.*}} columns 2 bits 8
func.func @signed_bytes() -> tensor<4x2xf32> {
  %i = glow.constant dense<[0, -1, -1, 0]> : tensor<4xi64>
  %t = glow.constant dense<[[-1, 2]]> : tensor<1x2xi8> as tensor<1x2x!quant.uniform<i8:f32:0, {0.5:1}>>
  %0 = glow.gather %t, %i : tensor<4x2xf32>
  func.return %0 : tensor<4x2xf32>
}
