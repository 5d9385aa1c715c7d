// RUN: GLOW_ROUNDTRIP
// RUN: GLOW_GENERIC_ROUNDTRIP

// CHECK-LABEL: func.func @losses(
// CHECK-NEXT: %0 = glow.mse_loss %x, %y : tensor<f32>
// CHECK-NEXT: %1 = glow.l1_loss %x, %y reduction "none" : tensor<6x4xf32>
// CHECK-NEXT: %2 = glow.huber_loss %x, %y delta 5.000000e-01 : tensor<f32>
// CHECK-NEXT: %3 = glow.bce_with_logits %x, %y : tensor<f32>
// CHECK-NEXT: %4 = glow.bce_with_logits %x, %y, %w reduction "sum" : tensor<f32>
// CHECK-NEXT: %5 = glow.kl_div %x, %y log_target reduction "batchmean" : tensor<f32>
// CHECK-NEXT: %6 = glow.nll_loss %x, %labels ignore_index -1 : tensor<f32>
// CHECK-NEXT: %7 = glow.cross_entropy %x, %labels, %w label_smoothing 1.000000e-01 : tensor<f32>
// CHECK-NEXT: func.return
func.func @losses(%x: tensor<6x4xf32>, %y: tensor<6x4xf32>, %w: tensor<4xf32>, %labels: tensor<6xi64>) {
  %0 = glow.mse_loss %x, %y reduction "mean" : tensor<f32>
  %1 = glow.l1_loss %x, %y reduction "none" : tensor<6x4xf32>
  %2 = glow.huber_loss %x, %y delta 0.5 : tensor<f32>
  %3 = glow.bce_with_logits %x, %y : tensor<f32>
  %4 = glow.bce_with_logits %x, %y, %w reduction "sum" : tensor<f32>
  %5 = glow.kl_div %x, %y reduction "batchmean" log_target : tensor<f32>
  %6 = glow.nll_loss %x, %labels ignore_index -1 : tensor<f32>
  %7 = glow.cross_entropy %x, %labels, %w label_smoothing 0.1 : tensor<f32>
  func.return
}

// CHECK-LABEL: func.func @optimizers(
// CHECK-NEXT: %0 = glow.sgd %rate, %step, %p, %g : tensor<3xf32>
// CHECK-NEXT: %1, %2 = glow.sgd %rate, %step, %p, %g, %m momentum 9.000000e-01 nesterov : tensor<3xf32>, tensor<3xf32>
// CHECK-NEXT: %3, %4, %5 = glow.adam %rate, %step, %p, %g, %m, %m beta2 0.99899999900000003 weight_decay 1.000000e-02 decoupled : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
// CHECK-NEXT: %6, %7, %8, %9 = glow.rmsprop %rate, %step, %p, %g, %m, %m, %m momentum 9.000000e-01 centered : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
// CHECK-NEXT: %10, %11 = glow.adagrad %rate, %step, %p, %g, %m rate_decay 1.000000e-01 : tensor<3xf32>, tensor<3xf32>
// CHECK-NEXT: %12, %13, %14 = glow.lamb %rate, %step, %p, %g, %m, %m : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
// CHECK-NEXT: func.return
func.func @optimizers(%rate: tensor<f32>, %step: tensor<i64>, %p: tensor<3xf32>, %g: tensor<3xf32>, %m: tensor<3xf32>) {
  %0 = glow.sgd %rate, %step, %p, %g : tensor<3xf32>
  %1, %2 = glow.sgd %rate, %step, %p, %g, %m momentum 0.9 nesterov : tensor<3xf32>, tensor<3xf32>
  %3, %4, %5 = glow.adam %rate, %step, %p, %g, %m, %m beta2 0.998999999 decoupled weight_decay 0.01 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
  %6, %7, %8, %9 = glow.rmsprop %rate, %step, %p, %g, %m, %m, %m momentum 0.9 centered : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
  %10, %11 = glow.adagrad %rate, %step, %p, %g, %m rate_decay 0.1 : tensor<3xf32>, tensor<3xf32>
  %12, %13, %14 = glow.lamb %rate, %step, %p, %g, %m, %m : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
  func.return
}

// CHECK-LABEL: func.func @layers(
// CHECK-NEXT: %0, %1, %2 = glow.batch_norm_training %x, %c, %c, %c, %c momentum 5.000000e-01 : tensor<6x4xf32>, tensor<4xf32>, tensor<4xf32>
// CHECK-NEXT: %3 = glow.random_uniform %seed stream 2 : tensor<3x5xf32>
// CHECK-NEXT: %4 = glow.dropout %x, %seed ratio 1.000000e-01 : tensor<6x4xf32>
// CHECK-NEXT: func.return
func.func @layers(%x: tensor<6x4xf32>, %c: tensor<4xf32>, %seed: tensor<2xi64>) {
  %0, %1, %2 = glow.batch_norm_training %x, %c, %c, %c, %c momentum 0.5 : tensor<6x4xf32>, tensor<4xf32>, tensor<4xf32>
  %3 = glow.random_uniform %seed stream 2 : tensor<3x5xf32>
  %4 = glow.dropout %x, %seed ratio 0.1 : tensor<6x4xf32>
  func.return
}
