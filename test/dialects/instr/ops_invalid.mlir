// RUN: glow-opt %s --split-input-file --verify-diagnostics

func.func @qualifier(%x: memref<4xf32>) {
  // expected-error @below {{unknown qualifier @write, expected @out, @inout or @in}}
  instr.relu @write %x, @in %x
  func.return
}

// -----

func.func @undefined(%x: memref<4xf32>) {
  // expected-error @below {{value %y is used before it is defined}}
  instr.relu @out %x, @in %y
  func.return
}

// -----

func.func @missing(%x: memref<4xf32>) {
  // The parser has gone on to the next token when it notices.
  // expected-error @+2 {{instr.splat needs the attribute 'value'}}
  instr.splat @out %x
  func.return
}

// -----

func.func @tensor(%x: tensor<4xf32>, %y: memref<4xf32>) {
  // expected-error @below {{tensor<4xf32>}}
  instr.relu @out %y, @in %x
  func.return
}

// -----

// The shape rule of the node holds for buffers.
func.func @shape(%x: memref<4xf32>, %y: memref<5xf32>) {
  // expected-error @below {{result 0 has type tensor<5xf32>, but operands and attributes give tensor<4xf32>}}
  instr.relu @out %y, @in %x
  func.return
}

// -----

func.func @broadcast(%x: memref<4xf32>, %y: memref<3xf32>, %z: memref<4xf32>) {
  // expected-error @below {{operands do not broadcast: shapes 4, 3}}
  instr.add @out %z, @in %x, @in %y
  func.return
}

// -----

func.func @elements(%x: memref<4xi32>) {
  // expected-error @below {{needs floating-point elements, not i32}}
  instr.exp @out %x, @in %x
  func.return
}

// -----

func.func @dynamic(%x: memref<?xf32>) {
  // expected-error @below {{buffers must have static shapes, not memref<?xf32>}}
  instr.relu @out %x, @in %x
  func.return
}

// -----

func.func @dynamic_alloc() {
  // expected-error @below {{buffers must have static shapes, not memref<?xf32>}}
  %a = instr.alloc : memref<?xf32>
  func.return
}

// -----

func.func @offset() {
  // expected-error @below {{the arena offset 32 must be a multiple of 64}}
  %a = instr.alloc offset 32 : memref<4xf32>
  func.return
}

// -----

func.func @view(%x: memref<4xf32>) {
  // expected-error @below {{the view of 3 elements at 2 leaves its buffer of 4}}
  %a = instr.tensorview %x offset 2 : memref<3xf32>
  func.return
}

// -----

func.func @negative_view(%x: memref<4xf32>) {
  // expected-error @below {{the view of 3 elements at -1 leaves its buffer of 4}}
  %a = instr.tensorview %x offset -1 : memref<3xf32>
  func.return
}

// -----

func.func @view_element(%x: memref<4xf32>) {
  // expected-error @below {{a view keeps the element type}}
  %a = instr.tensorview %x : memref<4xi32>
  func.return
}

// -----

func.func @dynamic_view(%x: memref<4x3xf32>, %i: index) {
  // expected-error @below {{element of memref<4x3xf32> cannot be memref<4xf32>}}
  %a = instr.dynamic_view %x, %i : memref<4xf32>
  func.return
}

// -----

func.func @copy(%x: memref<4xf32>, %y: memref<2x2xf32>) {
  // expected-error @below {{copy needs one type, not memref<4xf32> and memref<2x2xf32>}}
  instr.copy @out %y, @in %x
  func.return
}

// -----

func.func @copy_two(%x: memref<4xf32>, %y: memref<4xf32>) {
  // expected-error @below {{copy takes one @out and one @in buffer}}
  instr.copy @out %y, @in %x, @in %x
  func.return
}

// -----

func.func @splat(%x: memref<4xf32>) {
  // expected-error @below {{splat takes one @out buffer of its number's type}}
  instr.splat @out %x value 1 : i32
  func.return
}

// -----

func.func @insert(%x: memref<4xf32>, %y: memref<3xf32>) {
  // expected-error @below {{memref<3xf32> at [2] leaves memref<4xf32>}}
  instr.insert @inout %x, @in %y offsets [2]
  func.return
}

// -----

func.func @insert_out(%x: memref<4xf32>, %y: memref<3xf32>) {
  // expected-error @below {{insert takes one @inout and one @in buffer}}
  instr.insert @out %x, @in %y offsets [0]
  func.return
}

// -----

func.func @region_arguments(%x: memref<4xf32>) {
  // expected-error @below {{the region must take the operands' element types f32}}
  instr.stacked @out %x, @in %x {
  ^bb0(%e: f64):
    glow.yield %e
  }
  func.return
}

// -----

func.func @region_captures(%x: memref<4xf32>) {
  %zero = arith.constant 0.0 : f32
  // expected-error @below {{the region must use its own values only}}
  instr.stacked @out %x, @in %x {
  ^bb0(%e: f32):
    %m = arith.maximumf %e, %zero : f32
    glow.yield %m
  }
  func.return
}

// -----

func.func @region_results(%x: memref<4xf32>) {
  // expected-error @below {{the region must end in glow.yield of the results' element types f32}}
  instr.stacked @out %x, @in %x {
  ^bb0(%e: f32):
    glow.yield %e, %e
  }
  func.return
}

// -----

func.func @larger_weight() {
  // expected-error @below {{the value has type tensor<2xf32>, the memory holds tensor<2000xf32>}}
  %w = instr.weight dense<[1.0, 2.0]> : tensor<2xf32> : memref<2000xf32>
  func.return
}

// -----

func.func @other_weight() {
  // expected-error @below {{the value has type tensor<2xi32>, the memory holds tensor<2xf32>}}
  %w = instr.weight dense<[1, 2]> : tensor<2xi32> : memref<2xf32>
  func.return
}

// -----

func.func @quantized_weight() {
  // expected-error @below {{the value has type tensor<2xi32>, the memory holds tensor<2xi8>}}
  %w = instr.weight dense<[1, 2]> : tensor<2xi32> : memref<2x!quant.uniform<i8:f32, 0.5>>
  func.return
}
