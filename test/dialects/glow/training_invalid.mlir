// RUN: glow-opt %s --verify-diagnostics --split-input-file

func.func @target(%x: tensor<4xf32>, %y: tensor<3xf32>) {
  // expected-error @+1 {{input and target must have one type, not tensor<4xf32> and tensor<3xf32>}}
  %0 = glow.mse_loss %x, %y : tensor<f32>
  func.return
}

// -----

func.func @integers(%x: tensor<4xi32>) {
  // expected-error @+1 {{glow.l1_loss needs floating-point elements, not i32}}
  %0 = glow.l1_loss %x, %x : tensor<i32>
  func.return
}

// -----

func.func @reduction(%x: tensor<4xf32>) {
  // expected-error @+1 {{unknown reduction 'batchmean', expected mean, sum, none}}
  %0 = glow.mse_loss %x, %x reduction "batchmean" : tensor<f32>
  func.return
}

// -----

func.func @batchmean(%x: tensor<f32>) {
  // expected-error @+1 {{reduction 'batchmean' needs an axis, which tensor<f32> has not}}
  %0 = glow.kl_div %x, %x reduction "batchmean" : tensor<f32>
  func.return
}

// -----

func.func @delta(%x: tensor<4xf32>) {
  // expected-error @+1 {{delta is 0, not positive}}
  %0 = glow.huber_loss %x, %x delta 0.0 : tensor<f32>
  func.return
}

// -----

func.func @pos_weight(%x: tensor<4xf32>, %w: tensor<2x4xf32>) {
  // expected-error @+1 {{pos_weight tensor<2x4xf32> does not broadcast to tensor<4xf32>}}
  %0 = glow.bce_with_logits %x, %x, %w : tensor<f32>
  func.return
}

// -----

func.func @labels(%x: tensor<6x4xf32>, %labels: tensor<6x4xi64>) {
  // expected-error @+1 {{labels of tensor<6x4xf32> must be integers of shape [6], not tensor<6x4xi64>}}
  %0 = glow.cross_entropy %x, %labels : tensor<f32>
  func.return
}

// -----

func.func @weights(%x: tensor<6x4xf32>, %labels: tensor<6xi64>, %w: tensor<6xf32>) {
  // expected-error @+1 {{weights must be tensor<4xf32>, one a class, not tensor<6xf32>}}
  %0 = glow.nll_loss %x, %labels, %w : tensor<f32>
  func.return
}

// -----

func.func @smoothing(%x: tensor<6x4xf32>, %labels: tensor<6xi64>) {
  // expected-error @+1 {{label_smoothing is 1.5, outside of [0, 1]}}
  %0 = glow.cross_entropy %x, %labels label_smoothing 1.5 : tensor<f32>
  func.return
}

// -----

func.func @moments(%rate: tensor<f32>, %p: tensor<3xf32>) {
  // expected-error @+1 {{glow.adam takes parameter, gradient, exp_avg, exp_avg_sq of each parameter: 3 tensors are no multiple of 4}}
  %0, %1 = glow.adam %rate, %rate, %p, %p, %p : tensor<3xf32>, tensor<3xf32>
  func.return
}

// -----

func.func @gradient(%rate: tensor<f32>, %p: tensor<3xf32>, %g: tensor<2xf32>) {
  // expected-error @+1 {{gradient 0 must be tensor<3xf32> as the parameter, not tensor<2xf32>}}
  %0 = glow.sgd %rate, %rate, %p, %g : tensor<3xf32>
  func.return
}

// -----

func.func @rate(%rate: tensor<1xf32>, %p: tensor<3xf32>) {
  // expected-error @+1 {{the rate must be a float of rank 0, not tensor<1xf32>}}
  %0 = glow.sgd %rate, %rate, %p, %p : tensor<3xf32>
  func.return
}

// -----

func.func @step(%rate: tensor<f32>, %p: tensor<3xf32>) {
  // expected-error @+1 {{the step must be a number of rank 0, not tensor<3xf32>}}
  %0 = glow.sgd %rate, %p, %p, %p : tensor<3xf32>
  func.return
}

// -----

func.func @nesterov(%rate: tensor<f32>, %p: tensor<3xf32>) {
  // expected-error @+1 {{nesterov needs momentum}}
  %0 = glow.sgd %rate, %rate, %p, %p nesterov : tensor<3xf32>
  func.return
}

// -----

func.func @single_image(%x: tensor<1x4xf32>, %c: tensor<4xf32>) {
  // expected-error @+1 {{the variance of one element a channel is unknown: tensor<1x4xf32> (train on batches of several images)}}
  %0, %1, %2 = glow.batch_norm_training %x, %c, %c, %c, %c : tensor<1x4xf32>, tensor<4xf32>, tensor<4xf32>
  func.return
}

// -----

func.func @seed(%x: tensor<4xf32>, %seed: tensor<i64>) {
  // expected-error @+1 {{the seed must be tensor<2xi64>, not tensor<i64>}}
  %0 = glow.dropout %x, %seed : tensor<4xf32>
  func.return
}

// -----

func.func @ratio(%x: tensor<4xf32>, %seed: tensor<2xi64>) {
  // expected-error @+1 {{ratio is 1.5, outside of [0, 1]}}
  %0 = glow.dropout %x, %seed ratio 1.5 : tensor<4xf32>
  func.return
}

// -----

func.func @stream(%seed: tensor<2xi64>) {
  // expected-error @+1 {{stream -1 is not a 32-bit number}}
  %0 = glow.random_uniform %seed stream -1 : tensor<4xf32>
  func.return
}

// -----

func.func @elements(%seed: tensor<2xi64>) {
  // expected-error @+1 {{random numbers are f32, not f64}}
  %0 = glow.random_uniform %seed : tensor<4xf64>
  func.return
}
