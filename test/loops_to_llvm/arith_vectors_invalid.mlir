// RUN: glow-opt --split-input-file --verify-diagnostics %s | filecheck %s

func.func @f(%x: vector<4xi32>) {
  // CHECK: Destination bit-width must be larger than the input bit-width
  %a = arith.extsi %x : vector<4xi32> to vector<4xi8>
  func.return
}

// -----

func.func @f(%x: vector<4xi32>) {
  // CHECK: arith.sitofp: operands and results differ in shape: vector<4xi32>, vector<8xf32>
  %a = arith.sitofp %x : vector<4xi32> to vector<8xf32>
  func.return
}

// -----

func.func @f(%x: vector<4xi32>) {
  // CHECK: unknown predicate 'lt'
  %a = arith.cmpi lt, %x, %x : vector<4xi32>
  func.return
}

// -----

func.func @few(%a: f32) -> vector<2xf32> {
  // CHECK: vector.from_elements: vector<2xf32> has 2 of f32
  %v = vector.from_elements %a : vector<2xf32>
  func.return %v : vector<2xf32>
}

// -----

func.func @two(%a: vector<2xf32>) -> f32 {
  // CHECK: vector.to_elements takes one vector
  %v:2 = vector.to_elements %a, %a : vector<2xf32>
  func.return %v#0 : f32
}

// -----

func.func @less(%a: vector<2x8xi8>) -> vector<2x4xi8> {
  // CHECK: vector.shape_cast: vector<2x8xi8> is no vector<2x4xi8>
  %v = vector.shape_cast %a : vector<2x8xi8> to vector<2x4xi8>
  func.return %v : vector<2x4xi8>
}
