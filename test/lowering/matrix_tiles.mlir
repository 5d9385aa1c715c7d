// RUN: glow-opt --assign-layout='target=sapphirerapids' %s | filecheck %s --check-prefix CHOSEN
// RUN: glow-opt --assign-layout='target=sapphirerapids' %s | glow-opt --glow-to-instr --plan-memory --instr-to-loops='target=sapphirerapids' | filecheck %s --check-prefix LOOPS
// RUN: glow-opt --assign-layout='target=sapphirerapids_without-amx-int8' %s | filecheck %s --check-prefix VECTORS

// Many rows are multiplied by matrix tiles, in pairs of 14 rows here; one row is not.

// CHOSEN: cpu.int8_matmul {{.*}} config #cpu.matmul_config<rows = 28, blocks = 2, matrix_tiles = true> panels #cpu.panels<blocks = 2, lanes = 16> : tensor<28x64xi32>
// CHOSEN: cpu.int8_matmul {{.*}} config #cpu.matmul_config<rows = 1, blocks = 4> panels
// VECTORS-NOT: matrix_tiles

// LOOPS:      %[[Z:.*]] = amx.tile_zero : !amx.tile<14x16xi32>
// LOOPS:      scf.for %{{.*}} iter_args(%{{.*}} = %[[Z]], %{{.*}}) -> (!amx.tile<14x16xi32>, !amx.tile<14x16xi32>, !amx.tile<14x16xi32>, !amx.tile<14x16xi32>) {
// LOOPS:        %[[W:.*]] = amx.tile_load {{.*}} : memref<2x32x128xi8> into !amx.tile<16x64xi8>
// LOOPS:        %[[X:.*]] = amx.tile_load {{.*}} : memref<28x128xi8> into !amx.tile<14x64xi8>
// LOOPS:        amx.tile_muli %[[X]] zext, %[[W]], %{{.*}} : !amx.tile<14x64xi8>, !amx.tile<16x64xi8>, !amx.tile<14x16xi32>
// LOOPS:      amx.tile_store {{.*}} : memref<28x32xi32>, !amx.tile<14x16xi32>
func.func @main(%x: tensor<28x128xui8>, %y: tensor<1x128xui8>) -> (tensor<28x64xi32>, tensor<1x64xi32>) {
  %w = glow.constant dense<1> : tensor<128x64xi8>
  %z = glow.constant dense<3> : tensor<ui8>
  %p = glow.constant dense<0> : tensor<i8>
  %0 = glow.matmul_integer %x, %w, %z, %p : tensor<28x64xi32>
  %1 = glow.matmul_integer %y, %w, %z, %p : tensor<1x64xi32>
  func.return %0, %1 : tensor<28x64xi32>, tensor<1x64xi32>
}

// A convolution copies a band of pixels with their padding first: pairs of rows of 14 outputs.

// CHOSEN: cpu.int8_conv2d {{.*}} config #cpu.conv_config<blocks = 2, pixels = [14], matrix_tiles = true> panels #cpu.panels<blocks = 2, lanes = 16>
// LOOPS: memref.alloca() {alignment = 64 : i64} : memref<16x16x4x16xi8>
// LOOPS: amx.tile_load {{.*}} : memref<16x14x192xi8, strided<[1024, 64, 1]>> into !amx.tile<14x64xi8>
// LOOPS: amx.tile_store {{.*}} : memref<28x32xi32>, !amx.tile<14x16xi32>
func.func @convolution(%x: tensor<1x64x14x14xui8>) -> tensor<1x32x14x14xi32> {
  %w = glow.constant dense<1> : tensor<32x64x3x3xi8>
  %z = glow.constant dense<3> : tensor<ui8>
  %p = glow.constant dense<0> : tensor<i8>
  %0 = glow.conv2d_integer %x, %w, %z, %p pads [1, 1, 1, 1] : tensor<1x32x14x14xi32>
  func.return %0 : tensor<1x32x14x14xi32>
}
