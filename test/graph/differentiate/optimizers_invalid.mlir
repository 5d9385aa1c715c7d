// RUN: ! glow-opt --differentiate='loss=loss optimizer=adan' %s 2>&1 | filecheck %s --check-prefix=NAME
// RUN: ! glow-opt --differentiate='loss=loss optimizer="adam{beta=0.9}"' %s 2>&1 | filecheck %s --check-prefix=OPTION
// RUN: ! glow-opt --differentiate='loss=loss optimizer="adam{beta1=much}"' %s 2>&1 | filecheck %s --check-prefix=NUMBER
// RUN: ! glow-opt --differentiate='loss=loss optimizer="sgd{clip_norm=-1}"' %s 2>&1 | filecheck %s --check-prefix=NORM
// RUN: ! glow-opt --differentiate='loss=loss optimizer="sgd{accumulate=0}"' %s 2>&1 | filecheck %s --check-prefix=CALLS
// RUN: ! glow-opt --differentiate='loss=loss wrt=x optimizer=sgd' %s 2>&1 | filecheck %s --check-prefix=VARIABLE

// NAME: error: differentiate: unknown optimizer 'adan', expected sgd, adam, adamw, rmsprop, adagrad, lamb
// OPTION: error: differentiate: optimizer 'adam' has no option 'beta'; it has beta1, beta2, epsilon, weight_decay, decoupled, amsgrad, epsilon_hat, clip_value, clip_norm, accumulate
// NUMBER: error: differentiate: option 'beta1' must be a number, not 'much'
// NORM: error: differentiate: clip_norm must be positive, not -1.0
// CALLS: error: differentiate: accumulate must be 1 or more, not 0
// VARIABLE: error: differentiate: 'x' is no variable, and cannot be updated; make it one, for example with convert-constants-to-variables
func.func @main(%x: tensor<4xf32>) -> tensor<f32> {
  %w = glow.variable @w : tensor<4xf32>
  %0 = glow.mul %x, %w : tensor<4xf32>
  %loss = glow.reduce_sum %0 axes [0] : tensor<f32>
  func.return %loss : tensor<f32>
}
