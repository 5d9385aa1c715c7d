// RUN: glow-opt --merge-lookup-tables %s | filecheck %s

// A swish whose sigmoid is rounded.
// CHECK-LABEL: func.func @swish(
// CHECK-NEXT: %[[T:.*]] = glow.constant {{.*}} : tensor<256xi8>
// CHECK-NEXT: %{{.*}} = glow.lookup_table %x, %[[T]] : tensor<2x3x!quant.uniform<i8:f32, 3.000000e-02:-100>>
// CHECK-NEXT: func.return
func.func @swish(%x: tensor<2x3x!quant.uniform<i8:f32, 0.05:4>>) -> tensor<2x3x!quant.uniform<i8:f32, 0.03:-100>> {
  %0 = glow.constant dense<7> : tensor<256xi8>
  %1 = glow.lookup_table %x, %0 : tensor<2x3x!quant.uniform<i8:f32, 0.0078125>>
  %2 = glow.mul %x, %1 : tensor<2x3x!quant.uniform<i8:f32, 0.03:-100>>
  func.return %2 : tensor<2x3x!quant.uniform<i8:f32, 0.03:-100>>
}

// The steps of a GELU: all that is between two tables, and what comes after.
// CHECK-LABEL: func.func @chain(
// CHECK-NEXT: %[[T:.*]] = glow.constant
// CHECK-NEXT: %{{.*}} = glow.lookup_table %x, %[[T]] : tensor<4x!quant.uniform<u8:f32, 2.500000e-01>>
// CHECK-NEXT: func.return
func.func @chain(%x: tensor<4x!quant.uniform<u8:f32, 0.05:128>>) -> tensor<4x!quant.uniform<u8:f32, 0.25>> {
  %0 = glow.rescale %x : tensor<4x!quant.uniform<u8:f32, 0.03:128>>
  %1 = glow.constant dense<7> : tensor<256xui8>
  %2 = glow.lookup_table %0, %1 : tensor<4x!quant.uniform<u8:f32, 0.01>>
  %3 = glow.constant dense<100> : tensor<1xui8> as tensor<1x!quant.uniform<u8:f32, 0.01>>
  %4 = glow.add %2, %3 : tensor<4x!quant.uniform<u8:f32, 0.02>>
  %5 = glow.mul %4, %x : tensor<4x!quant.uniform<u8:f32, 0.04:3>>
  %6 = glow.relu %5 : tensor<4x!quant.uniform<u8:f32, 0.04:3>>
  %7 = glow.rescale %6 : tensor<4x!quant.uniform<u8:f32, 0.25>>
  func.return %7 : tensor<4x!quant.uniform<u8:f32, 0.25>>
}

// Of 16 bits, too.
// CHECK-LABEL: func.func @sixteen_bits(
// CHECK-NEXT: %[[T:.*]] = glow.constant {{.*}} : tensor<65536xi16>
// CHECK-NEXT: %{{.*}} = glow.lookup_table %x, %[[T]]
// CHECK-NEXT: func.return
func.func @sixteen_bits(%x: tensor<4x!quant.uniform<i16:f32, 0.001>>) -> tensor<4x!quant.uniform<i16:f32, 0.002>> {
  %0 = glow.constant dense<7> : tensor<65536xi16>
  %1 = glow.lookup_table %x, %0 : tensor<4x!quant.uniform<i16:f32, 0.001>>
  %2 = glow.mul %x, %1 : tensor<4x!quant.uniform<i16:f32, 0.002>>
  func.return %2 : tensor<4x!quant.uniform<i16:f32, 0.002>>
}

// The entries: the table makes 1.5 of every number, stored in quarters; its products with halves
// above 8 are 1.5, 3 and 4.5 halves, rounded to even; those below 0 are not stored.
// CHECK-LABEL: func.func @entries(
// CHECK-NEXT: glow.constant dense_resource<halves.table> : tensor<256xui8>
// CHECK: halves.table: "0x{{[0-9A-F]*}}0000000000000000000203040608
func.func @entries(%x: tensor<4x!quant.uniform<u8:f32, 0.5:8>>) -> tensor<4x!quant.uniform<u8:f32, 0.5>> {
  %0 = glow.constant dense<6> : tensor<256xui8>
  %1 = glow.lookup_table %x, %0 : tensor<4x!quant.uniform<u8:f32, 0.25>>
  %halves = glow.mul %x, %1 : tensor<4x!quant.uniform<u8:f32, 0.5>>
  func.return %halves : tensor<4x!quant.uniform<u8:f32, 0.5>>
}
