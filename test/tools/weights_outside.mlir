// RUN: not glow-opt %s 2>&1 | filecheck %s
// CHECK: glow-opt: error: the weight file '../secret.safetensors' lies outside the folder of
builtin.module attributes {glow.weights = #glow.weights<"../secret.safetensors">} {
}
