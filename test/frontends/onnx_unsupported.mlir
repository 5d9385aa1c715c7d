// All operators that are not supported are listed at once, on one line.

// RUN: python %S/inputs/onnx_text.py %s %t.onnx
// RUN: not glow-opt %t.onnx 2>&1 | filecheck %s

// MODEL: <ir_version: 8, opset_import: ["": 17, "vendor": 1]>
// MODEL: unsupported (float[1,1,4,4] x) => (float[N] y) {
// MODEL:   a = Foo(x)
// MODEL:   b = vendor.Bar(a)
// MODEL:   c = MaxPool<kernel_shape=[2,2], auto_pad="NO">(x)
// MODEL:   y = Sum(b, c)
// MODEL: }

// CHECK: error: 3 operators are not supported: 'Foo' at node 'a'; 'Bar' (domain vendor) at node 'b'; 'MaxPool' (auto_pad NO) at node 'c'
