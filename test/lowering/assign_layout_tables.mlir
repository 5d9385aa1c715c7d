// RUN: glow-opt --assign-layout='target=avx512' %s | filecheck %s

// The table of a function of bytes has an entry for whatever is in padding lanes.
// CHECK-LABEL: @table
// CHECK:      %[[C:.*]] = cpu.int8_conv2d
// CHECK:      %[[B:.*]] = glow.convert %[[C]] : tensor<1x2x8x8x16xui8>
// CHECK-NEXT: %[[G:.*]] = glow.gather %table, %[[B]] : tensor<1x2x8x8x16xui8>
// CHECK-NEXT: cpu.unpack %[[G]] channels 24
func.func @table(%x: tensor<1x16x8x8xui8>, %table: tensor<256xui8>) -> tensor<1x24x8x8xui8> {
  %w = glow.splat 3 : tensor<24x16x1x1xi8>
  %zx = glow.constant dense<0> : tensor<ui8>
  %zw = glow.constant dense<0> : tensor<i8>
  %0 = glow.conv2d_integer %x, %w, %zx, %zw : tensor<1x24x8x8xi32>
  %1 = glow.convert %0 : tensor<1x24x8x8xui8>
  %2 = glow.gather %table, %1 : tensor<1x24x8x8xui8>
  func.return %2 : tensor<1x24x8x8xui8>
}

// An index of 64 bits may be outside of any table.
// CHECK-LABEL: @wide_index
// CHECK: %[[P:.*]] = cpu.unpack
// CHECK: glow.gather %table, %[[P]] : tensor<1x24x8x8xf32>
func.func @wide_index(%x: tensor<1x16x8x8xui8>, %table: tensor<256xf32>) -> tensor<1x24x8x8xf32> {
  %w = glow.splat 3 : tensor<24x16x1x1xi8>
  %zx = glow.constant dense<0> : tensor<ui8>
  %zw = glow.constant dense<0> : tensor<i8>
  %0 = glow.conv2d_integer %x, %w, %zx, %zw : tensor<1x24x8x8xi32>
  %1 = glow.clip %0 low 0.0 high 255.0 : tensor<1x24x8x8xi32>
  %2 = glow.gather %table, %1 : tensor<1x24x8x8xf32>
  func.return %2 : tensor<1x24x8x8xf32>
}
