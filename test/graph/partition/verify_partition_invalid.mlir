// RUN: glow-opt %s --split-input-file --verify-diagnostics --verify-partition

// expected-error @unknown {{the module does not say which devices it is divided between}}
func.func private @part0(%x: tensor<4xf32>) -> tensor<4xf32> attributes {glow.device = "cpu:0"} {
  func.return %x : tensor<4xf32>
}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = func.call @part0(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %a : tensor<4xf32>
}

// -----

// expected-error @+1 {{@part0 has no device}}
func.func private @part0(%x: tensor<4xf32>) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = func.call @part0(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %a : tensor<4xf32>
}

// -----

func.func private @part0(%x: tensor<4xf32>) -> tensor<4xf32> attributes {glow.device = "cpu:0"} {
  func.return %x : tensor<4xf32>
}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = func.call @part0(%x) : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error @+1 {{@main has glow.relu beside the calls of parts}}
  %b = glow.relu %a : tensor<4xf32>
  func.return %b : tensor<4xf32>
}

// -----

func.func private @part0(%x: tensor<4xf32>) -> tensor<4xf32> attributes {glow.device = "cpu:0"} {
  func.return %x : tensor<4xf32>
}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = func.call @part0(%x) : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error @+1 {{@part0 is called twice}}
  %b = func.call @part0(%a) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %b : tensor<4xf32>
}

// -----

func.func private @part0(%x: tensor<4xf32>) -> tensor<4xf32> attributes {glow.device = "cpu:0"} {
  // expected-error @+1 {{@part0 calls @inner; only main calls parts}}
  %a = func.call @inner(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %a : tensor<4xf32>
}
func.func private @inner(%x: tensor<4xf32>) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = func.call @part0(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %a : tensor<4xf32>
}

// -----

func.func private @part0(%x: tensor<4xf32>) -> tensor<4xf32> attributes {glow.device = "cpu:0"} {
  %v = glow.variable @v : tensor<4xf32>
  %y = glow.add %x, %v : tensor<4xf32>
  func.return %y : tensor<4xf32>
}
func.func private @part1(%y: tensor<4xf32>) -> tensor<4xf32> attributes {glow.device = "cpu:1"} {
  // expected-error @+1 {{variable 'v' is in @part0 and in @part1}}
  %v = glow.variable @v : tensor<4xf32>
  %z = glow.add %y, %v : tensor<4xf32>
  glow.save %z, @v
  func.return %z : tensor<4xf32>
}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = func.call @part0(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %z = func.call @part1(%y) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %z : tensor<4xf32>
}
