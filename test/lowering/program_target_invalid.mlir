// Text for one target is refused by every pass for another.
// RUN: glow-opt --split-input-file --verify-diagnostics --promote-types='target=avx512' %s
// RUN: glow-opt --split-input-file --verify-diagnostics --fp16-storage='target=avx512' %s
// RUN: glow-opt --split-input-file --verify-diagnostics --split-batch='target=avx512' %s
// RUN: glow-opt --split-input-file --verify-diagnostics --assign-layout='target=avx512' %s
// RUN: glow-opt --split-input-file --verify-diagnostics --instr-to-loops='target=avx512' %s
// RUN: glow-opt --split-input-file --verify-diagnostics --loops-to-llvm='target=avx512' %s

// expected-error {{the program is lowered for x86-64-v3 (core generic-avx2, vector_bytes 32, vector_registers 16, l2_bytes 262144, features fma), not for avx512 (core generic-avx512, vector_bytes 64, vector_registers 32, l2_bytes 1048576, features fma+vnni); --target-cpu=x86-64-v3 compiles it for that}}
builtin.module attributes {glow.target = #glow.target<{name = "x86-64-v3", arch = "x86_64", core = "generic-avx2", vector_bytes = 32 : i64, vector_registers = 16 : i64, l1_bytes = 32768 : i64, l2_bytes = 262144 : i64, features = ["fma"]}>} {
}

// -----

// expected-error {{the program is lowered for z80 (arch z80, core z80, vector_bytes 1, vector_registers 7, l1_bytes 0, l2_bytes 0, features )}}
builtin.module attributes {glow.target = {name = "z80", arch = "z80", core = "z80", vector_bytes = 1 : i64, vector_registers = 7 : i64, l1_bytes = 0 : i64, l2_bytes = 0 : i64, features = []}} {
}

// -----

// expected-error {{glow.target lacks name, arch, core, vector_bytes, vector_registers, l1_bytes, l2_bytes, features}}
builtin.module attributes {glow.target = "avx2"} {
}

// -----

// expected-error {{glow.target has "32" as its vector_bytes, which is a number}}
builtin.module attributes {glow.target = {name = "x86-64-v3", arch = "x86_64", core = "generic-avx2", vector_bytes = "32", vector_registers = 16 : i64, l1_bytes = 32768 : i64, l2_bytes = 262144 : i64, features = ["fma"]}} {
}

// -----

// expected-error {{glow.target has [1 : i64] as its features, which is a list of strings}}
builtin.module attributes {glow.target = {name = "x86-64-v3", arch = "x86_64", core = "generic-avx2", vector_bytes = 32 : i64, vector_registers = 16 : i64, l1_bytes = 32768 : i64, l2_bytes = 262144 : i64, features = [1 : i64]}} {
}

// -----

// expected-error @below {{glow.target has no entry 'l3_bytes': there are name, arch, core, vector_bytes, vector_registers, l1_bytes, l2_bytes, features}}
builtin.module attributes {glow.target = #glow.target<{name = "x86-64-v3", arch = "x86_64", core = "generic-avx2", vector_bytes = 32 : i64, vector_registers = 16 : i64, l1_bytes = 32768 : i64, l2_bytes = 262144 : i64, features = ["fma"], l3_bytes = 1 : i64}>} {
}

// -----

// expected-error @below {{glow.target lacks core, features}}
builtin.module attributes {glow.target = #glow.target<{name = "x86-64-v3", arch = "x86_64", vector_bytes = 32 : i64, vector_registers = 16 : i64, l1_bytes = 32768 : i64, l2_bytes = 262144 : i64}>} {
}

// -----

// expected-error @below {{glow.target has 3 : i64 as its name, which is a string}}
builtin.module attributes {glow.target = #glow.target<{name = 3 : i64, arch = "x86_64", core = "generic-avx2", vector_bytes = 32 : i64, vector_registers = 16 : i64, l1_bytes = 32768 : i64, l2_bytes = 262144 : i64, features = ["fma"]}>} {
}

// -----

// expected-error @below {{glow.target has -1 : i64 as its l1_bytes, which is a number}}
builtin.module attributes {glow.target = #glow.target<{name = "x86-64-v3", arch = "x86_64", core = "generic-avx2", vector_bytes = 32 : i64, vector_registers = 16 : i64, l1_bytes = -1 : i64, l2_bytes = 262144 : i64, features = ["fma"]}>} {
}

// -----

// expected-error @below {{glow.target lacks name, arch, core, vector_bytes, vector_registers, l1_bytes, l2_bytes, features}}
builtin.module attributes {glow.target = #glow.target<"avx2">} {
}
