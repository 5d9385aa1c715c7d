// RUN: glow-opt %s --split-input-file --differentiate='loss=loss wrt=@w,@b optimizer="sgd{momentum=0.9}"' | filecheck %s
// RUN: glow-opt %s --split-input-file --differentiate='loss=loss optimizer="adamw{clip_value=1 clip_norm=2.5}"' | filecheck %s --check-prefix=CLIP
// RUN: glow-opt %s --split-input-file --differentiate='loss=loss wrt=@w optimizer="sgd{accumulate=4}"' | filecheck %s --check-prefix=SUM

// CHECK-LABEL: func.func @line(%x: tensor<8x4xf32>, %y: tensor<8x1xf32>, %rate: tensor<f32>) -> tensor<f32>
// CHECK:      %step = glow.variable @step : tensor<f32>
// CHECK:      %step_number = glow.add %step, {{%.*}} : tensor<f32>
// CHECK-NEXT: {{%.*}} = glow.variable @w.momentum_buffer : tensor<4x1xf32>
// CHECK-NEXT: {{%.*}} = glow.variable @b.momentum_buffer : tensor<1xf32>
// CHECK-NEXT: [[W:%.*]], [[B:%.*]], [[M:%.*]], [[N:%.*]] = glow.sgd %rate, %step_number, %w, %b, %w.grad, %b.grad, {{%.*}}, {{%.*}} momentum 9.000000e-01 : tensor<4x1xf32>, tensor<1xf32>, tensor<4x1xf32>, tensor<1xf32>
// CHECK-NEXT: glow.save [[W]], @w
// CHECK-NEXT: glow.save [[B]], @b
// CHECK-NEXT: glow.save [[M]], @w.momentum_buffer
// CHECK-NEXT: glow.save [[N]], @b.momentum_buffer
// CHECK-NEXT: glow.save %step_number, @step
// CHECK-NEXT: func.return %loss : tensor<f32>

// CLIP-LABEL: func.func @line(
// CLIP:       [[A:%.*]] = glow.min {{.*}} : tensor<4x1xf32>
// CLIP:       [[B:%.*]] = glow.min {{.*}} : tensor<1xf32>
// CLIP:       [[AA:%.*]] = glow.mul [[A]], [[A]] : tensor<4x1xf32>
// CLIP:       [[S:%.*]] = glow.reduce_sum [[AA]] axes [0, 1] : tensor<f32>
// CLIP:       [[BB:%.*]] = glow.mul [[B]], [[B]] : tensor<1xf32>
// CLIP:       [[T:%.*]] = glow.reduce_sum [[BB]] axes [0] : tensor<f32>
// CLIP:       [[ST:%.*]] = glow.add [[S]], [[T]] : tensor<f32>
// CLIP:       [[N:%.*]] = glow.sqrt [[ST]] : tensor<f32>
// CLIP:       [[F:%.*]] = glow.min {{.*}} : tensor<f32>
// CLIP-NEXT:  [[CA:%.*]] = glow.mul [[A]], [[F]] : tensor<4x1xf32>
// CLIP-NEXT:  [[CB:%.*]] = glow.mul [[B]], [[F]] : tensor<1xf32>
// CLIP:       glow.adam %rate, %step_number, %w, %b, [[CA]], [[CB]], {{.*}} weight_decay 1.000000e-02 decoupled :

// SUM-LABEL: func.func @line(
// SUM:       [[CALLS:%.*]] = glow.variable @calls : tensor<f32>
// SUM:       [[NUMBER:%.*]] = glow.add [[CALLS]], {{%.*}} : tensor<f32>
// SUM:       [[LAST:%.*]] = glow.less_equal {{%.*}}, [[NUMBER]] : tensor<i1>
// SUM-NEXT:  [[OLD:%.*]] = glow.variable @w.grad_sum : tensor<4x1xf32>
// SUM-NEXT:  [[TOTAL:%.*]] = glow.add [[OLD]], %w.grad : tensor<4x1xf32>
// SUM:       [[REST:%.*]] = glow.select [[LAST]], {{%.*}}, [[TOTAL]] : tensor<4x1xf32>
// SUM-NEXT:  glow.save [[REST]], @w.grad_sum
// SUM:       glow.save {{%.*}}, @calls
// SUM:       [[MEAN:%.*]] = glow.mul [[TOTAL]], {{%.*}} : tensor<4x1xf32>
// SUM:       [[NEW:%.*]] = glow.sgd %rate, %step_number, %w, [[MEAN]] : tensor<4x1xf32>
// SUM-NEXT:  [[KEPT:%.*]] = glow.select [[LAST]], [[NEW]], %w : tensor<4x1xf32>
// SUM-NEXT:  glow.save [[KEPT]], @w
// SUM-NEXT:  [[STEP:%.*]] = glow.select [[LAST]], %step_number, %step : tensor<f32>
// SUM-NEXT:  glow.save [[STEP]], @step
func.func @line(%x: tensor<8x4xf32>, %y: tensor<8x1xf32>) -> tensor<f32> {
  %w = glow.variable @w : tensor<4x1xf32>
  %b = glow.variable @b : tensor<1xf32>
  %0 = glow.matmul %x, %w : tensor<8x1xf32>
  %1 = glow.add %0, %b : tensor<8x1xf32>
  %loss = glow.mse_loss %1, %y : tensor<f32>
  func.return %loss : tensor<f32>
}
