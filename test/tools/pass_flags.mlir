// Every pass is a flag; flags, -p and --pass-pipeline run in the order given.
// RUN: glow-opt --cse --convert-memref-to-ptr='lower_func=true' -p dce,canonicalize --pass-pipeline='builtin.module(licm,func.func(dce),cse)' --canonicalize --dump-pass-pipeline %s 2>&1 >/dev/null | filecheck %s --check-prefix=ORDER
// ORDER: builtin.module(cse,convert-memref-to-ptr{lower_func=true},dce,canonicalize,licm,dce,cse,canonicalize)

// One dash works as it does in mlir-opt, and so do options without quotes.
// RUN: glow-opt -cse --convert-memref-to-ptr=lower-func=true --dump-pass-pipeline %s 2>&1 >/dev/null | filecheck %s --check-prefix=DASH
// DASH: builtin.module(cse,convert-memref-to-ptr{lower_func=true})

// RUN: glow-opt -pass-pipeline='builtin.module(cse)' --dump-pass-pipeline %s 2>&1 >/dev/null | filecheck %s --check-prefix=PIPELINE
// PIPELINE: builtin.module(cse)

// Values that are no identifiers need no quotes of their own.
// RUN: glow-opt --mlir-opt='executable=/bin/x.y arguments=--a,--b' --dump-pass-pipeline --show-dialects 2>&1 >/dev/null | filecheck %s --check-prefix=VALUES
// VALUES: mlir-opt{executable="/bin/x.y" arguments="--a","--b"}

// A flag does not swallow the file after it.
// RUN: glow-opt --cse %s | filecheck %s
// CHECK:      %y = arith.addi %x, %x : i32
// CHECK-NEXT: func.return %y, %y
func.func @twice(%x: i32) -> (i32, i32) {
  %y = arith.addi %x, %x : i32
  %z = arith.addi %x, %x : i32
  func.return %y, %z : i32, i32
}
