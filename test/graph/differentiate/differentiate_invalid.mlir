// RUN: ! glow-opt --differentiate='loss=%vector wrt=x' %s 2>&1 | filecheck %s --check-prefix=VECTOR
// RUN: ! glow-opt --differentiate='loss=%count wrt=x' %s 2>&1 | filecheck %s --check-prefix=COUNT
// RUN: ! glow-opt --differentiate='loss=%lost wrt=x' %s 2>&1 | filecheck %s --check-prefix=LOST
// RUN: ! glow-opt --differentiate='loss=%one wrt=z' %s 2>&1 | filecheck %s --check-prefix=NAME
// RUN: ! glow-opt --differentiate='loss=%one wrt=x,y' %s 2>&1 | filecheck %s --check-prefix=APART
// RUN: ! glow-opt --differentiate='loss=%one' %s 2>&1 | filecheck %s --check-prefix=NONE
// RUN: ! glow-opt --differentiate='loss=stepped wrt=x' %s 2>&1 | filecheck %s --check-prefix=STEPS
// RUN: ! glow-opt --differentiate='loss=%only wrt=x' %s 2>&1 | filecheck %s --check-prefix=RULE

// VECTOR: error: differentiate: the loss must be one number, not tensor<4xf32>; reduce it, for example with glow.reduce_sum or glow.reduce_mean
func.func @vector(%x: tensor<4xf32>) -> tensor<4xf32> {
  %vector = glow.relu %x : tensor<4xf32>
  func.return %vector : tensor<4xf32>
}

// COUNT: error: differentiate: the loss must be a tensor of floats, not tensor<i64>
func.func @count(%x: tensor<4xf32>) -> tensor<i64> {
  %count = glow.arg_max %x : tensor<i64>
  func.return %count : tensor<i64>
}

// LOST: error: differentiate: there is no loss: no function has a value '%lost'

// NAME: error: differentiate: nothing to differentiate is called 'z'; there are x, y
// APART: error: differentiate: the loss does not depend on 'y', or not through differentiable nodes
// NONE: error: differentiate: the loss depends on no variable; name arguments or weights in wrt
func.func @one(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<f32> {
  %one = glow.reduce_sum %x axes [0] : tensor<f32>
  func.return %one : tensor<f32>
}

// STEPS: error: differentiate: the loss does not depend on 'x', or not through differentiable nodes
func.func @stepped(%x: tensor<4xf32>) -> tensor<f32> {
  %integers = glow.convert %x : tensor<4xi32>
  %floats = glow.convert %integers : tensor<4xf32>
  %rounded = glow.round %x : tensor<4xf32>
  %sum = glow.add %floats, %rounded : tensor<4xf32>
  %stepped = glow.reduce_sum %sum axes [0] : tensor<f32>
  func.return %stepped : tensor<f32>
}

// RULE: error: differentiate: glow.dynamic_quantize has no derivative, and the loss depends on it (at node 'scale'); differentiate with respect to what comes behind it
func.func @quantized(%x: tensor<2x2xf32>) -> tensor<f32> {
  %q, %s, %z = glow.dynamic_quantize %x : tensor<2x2xui8>, tensor<f32>, tensor<ui8> loc("scale")
  %only = glow.mul %s, %s : tensor<f32>
  func.return %only : tensor<f32>
}
