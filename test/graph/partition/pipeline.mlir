// RUN: glow-opt %s --partition='devices=cpu*3 strategy=pipeline' | filecheck %s
// RUN: glow-opt %s --partition='devices=cpu*7 strategy=pipeline saturate' | filecheck %s --check-prefix COPIES

// A stage for each product.

// CHECK:      @part0({{.*}}glow.device = "cpu:0"
// CHECK-NEXT:   %w = glow.constant @w
// CHECK-NEXT:   %a = glow.matmul
// CHECK:      @part1({{.*}}glow.device = "cpu:1"
// CHECK:        %b = glow.matmul
// CHECK:      @part2({{.*}}glow.device = "cpu:2"
// CHECK:        %c = glow.matmul

// More devices than stages hold copies of whole pipelines; the seventh one is left over.

// COPIES: @part0({{.*}}glow.device = "cpu:0", glow.replicas = ["cpu:3"]
// COPIES: @part1({{.*}}glow.device = "cpu:1", glow.replicas = ["cpu:4"]
// COPIES: @part2({{.*}}glow.device = "cpu:2", glow.replicas = ["cpu:5"]
func.func @main(%x: tensor<64x512xf32>) -> tensor<64x512xf32> {
  %w = glow.constant @w : tensor<512x512xf32>
  %a = glow.matmul %x, %w : tensor<64x512xf32>
  %b = glow.matmul %a, %w : tensor<64x512xf32>
  %c = glow.matmul %b, %w : tensor<64x512xf32>
  func.return %c : tensor<64x512xf32>
}
