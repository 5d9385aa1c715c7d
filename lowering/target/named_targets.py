"""The targets that have a name: one row each, read by `--target=NAME`.

A row is all that there is to add for a new machine of a known instruction set: LLVM's triple,
CPU and features, the ABI, the core family by whose numbers kernels are chosen, and the facts that
builders ask for (`Target`). `glow compile --list-targets` prints them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class NamedTarget:
    """A row of the table; facts that are left out are those of a plain CPU of 64 bits."""

    summary: str
    triple: str
    cpu: str
    core: str
    """The core family, by its name."""
    features: str = ""
    abi: str = ""
    """LLVM's name of the calling convention, where the triple does not say it."""
    index_bits: int = 64
    byte_dot: str = "none"
    round_instruction: bool = True
    round_conversion: bool = True
    fma_instruction: bool = True
    float_instructions: bool = True


LINUX_X86 = "x86_64-unknown-linux-gnu"
LINUX_ARM = "aarch64-unknown-linux-gnu"
LINUX_RISCV = "riscv64-unknown-linux-gnu"
WASM = "wasm32-unknown-unknown"

NAMED_TARGETS: Mapping[str, NamedTarget] = {
    "x86-64": NamedTarget(
        "any x86-64 CPU",
        LINUX_X86,
        "x86-64",
        "generic-sse",
        round_instruction=False,
        fma_instruction=False,
    ),
    "x86-64-v2": NamedTarget(
        "x86-64 with SSE4.2",
        LINUX_X86,
        "x86-64-v2",
        "generic-sse",
        fma_instruction=False,
    ),
    "x86-64-v3": NamedTarget(
        "x86-64 with AVX2", LINUX_X86, "x86-64-v3", "generic-avx2"
    ),
    "x86-64-v4": NamedTarget(
        "x86-64 with AVX-512", LINUX_X86, "x86-64-v4", "generic-avx512"
    ),
    "neon": NamedTarget(
        "any AArch64 CPU", LINUX_ARM, "generic", "generic-neon", "+neon"
    ),
    "neon-dotprod": NamedTarget(
        "AArch64 with int8 dot products (Armv8.2)",
        LINUX_ARM,
        "generic",
        "generic-neon",
        "+neon,+dotprod",
        byte_dot="dotprod",
    ),
    "neon-i8mm": NamedTarget(
        "AArch64 with products of unsigned and signed bytes (Armv8.6)",
        LINUX_ARM,
        "generic",
        "generic-neon",
        "+neon,+dotprod,+i8mm",
        byte_dot="i8mm",
    ),
    "riscv64": NamedTarget(
        "RISC-V of 64 bits without vectors (rv64gc)",
        LINUX_RISCV,
        "generic-rv64",
        "generic-riscv",
        "+m,+a,+f,+d,+c",
        "lp64d",
        round_instruction=False,
    ),
    "riscv64-v": NamedTarget(
        "RISC-V of 64 bits with vectors (rv64gcv)",
        LINUX_RISCV,
        "generic-rv64",
        "generic-riscv-v",
        "+m,+a,+f,+d,+c,+v",
        "lp64d",
        round_instruction=False,
    ),
    "riscv32": NamedTarget(
        "RISC-V of 32 bits without floats (rv32imac)",
        "riscv32-unknown-none-elf",
        "generic-rv32",
        "generic-riscv32",
        "+m,+a,+c",
        "ilp32",
        index_bits=32,
        round_conversion=False,
        round_instruction=False,
        fma_instruction=False,
        float_instructions=False,
    ),
    "cortex-m0plus": NamedTarget(
        "Arm Cortex-M0+ and Cortex-M0",
        "thumbv6m-unknown-none-eabi",
        "cortex-m0plus",
        "cortex-m0plus",
        index_bits=32,
        round_conversion=False,
        round_instruction=False,
        fma_instruction=False,
        float_instructions=False,
    ),
    "cortex-m3": NamedTarget(
        "Arm Cortex-M3",
        "thumbv7m-unknown-none-eabi",
        "cortex-m3",
        "cortex-m3",
        index_bits=32,
        round_conversion=False,
        round_instruction=False,
        fma_instruction=False,
        float_instructions=False,
    ),
    "cortex-m4": NamedTarget(
        "Arm Cortex-M4 with floats",
        "thumbv7em-unknown-none-eabihf",
        "cortex-m4",
        "cortex-m4",
        index_bits=32,
        round_conversion=False,
        byte_dot="smlad",
        round_instruction=False,
    ),
    "cortex-m7": NamedTarget(
        "Arm Cortex-M7 with floats",
        "thumbv7em-unknown-none-eabihf",
        "cortex-m7",
        "cortex-m7",
        index_bits=32,
        round_conversion=False,
        byte_dot="smlad",
    ),
    "cortex-m33": NamedTarget(
        "Arm Cortex-M33 with floats and DSP instructions",
        "thumbv8m.main-unknown-none-eabihf",
        "cortex-m33",
        "cortex-m33",
        index_bits=32,
        round_conversion=False,
        byte_dot="smlad",
    ),
    "cortex-m55": NamedTarget(
        "Arm Cortex-M55 with Helium (MVE)",
        "thumbv8.1m.main-unknown-none-eabihf",
        "cortex-m55",
        "cortex-m55",
        index_bits=32,
        round_conversion=False,
        byte_dot="mve",
    ),
    "wasm": NamedTarget(
        "WebAssembly without vectors",
        WASM,
        "mvp",
        "generic-wasm",
        "+bulk-memory,+mutable-globals,+nontrapping-fptoint,+sign-ext",
        index_bits=32,
        round_conversion=False,
        fma_instruction=False,
    ),
    "wasm-simd": NamedTarget(
        "WebAssembly with vectors of 128 bits",
        WASM,
        "mvp",
        "generic-wasm-simd",
        "+bulk-memory,+mutable-globals,+nontrapping-fptoint,+sign-ext,+simd128",
        index_bits=32,
        round_conversion=False,
        fma_instruction=False,
    ),
    "wasm-relaxed-simd": NamedTarget(
        "WebAssembly whose multiply-adds may round once or twice",
        WASM,
        "mvp",
        "generic-wasm-simd",
        "+bulk-memory,+mutable-globals,+nontrapping-fptoint,+sign-ext,+simd128,"
        "+relaxed-simd",
        index_bits=32,
        byte_dot="relaxed-simd",
        round_conversion=False,
    ),
}
"""By the name that users write."""

GPU_TRIPLE = "nvptx64-nvidia-cuda"
PTX_VERSIONS = {"sm_90a": "+ptx84"}
"""Of CUDA 12.0, which has the instructions of one GPU alone."""
PTX_VERSION = "+ptx78"
"""Of CUDA 11.8, the first that knows all other GPUs of the table."""

GPUS: Mapping[str, NamedTarget] = {
    name: NamedTarget(
        f"NVIDIA {family}",
        GPU_TRIPLE,
        name,
        "generic-sse",  # Vectors of 16 bytes: the most that a thread loads at once.
        PTX_VERSIONS.get(name, PTX_VERSION),
        round_conversion=False,
    )
    for name, family in {
        "sm_75": "Turing",
        "sm_80": "Ampere (A100)",
        "sm_86": "Ampere",
        "sm_89": "Ada",
        "sm_90": "Hopper (H100)",
        "sm_90a": "Hopper (H100), with what later GPUs do not run",
    }.items()
}
"""By NVIDIA's names of compute capabilities; `--backend=cuda` makes PTX for them."""

ROWS = {**NAMED_TARGETS, **GPUS}


CPUS = {
    **dict.fromkeys(("x86-64", "x86-64-v2"), "scalar"),
    **dict.fromkeys(
        ("x86-64-v3", "haswell", "broadwell", "skylake", "znver1", "znver2", "znver3"),
        "avx2",
    ),
    **dict.fromkeys(("x86-64-v4", "skylake-avx512"), "avx512"),
    **dict.fromkeys(("cascadelake", "icelake-server"), "avx512"),
    **dict.fromkeys(("sapphirerapids", "emeraldrapids"), "avx512amx"),
    **dict.fromkeys(("cooperlake",), "avx512bf16"),
    **dict.fromkeys(("znver4", "znver5"), "avx512bf16"),
    **dict.fromkeys(("generic", "cortex-a72", "cortex-a76", "neoverse-n1"), "neon"),
    **dict.fromkeys(("neoverse-n2", "neoverse-v1", "neoverse-v2"), "neon"),
}
"""The instruction sets of CPUs, by LLVM's names; `CORE_OF_CPU` has their numbers."""

WITHOUT_VNNI = ("x86-64-v4", "skylake-avx512")


def target_lines() -> list[str]:
    """The table as text: a line a target, with what LLVM makes code for."""
    width = max(map(len, NAMED_TARGETS))
    return [
        f"{name:{width}}  {row.summary} ({row.triple}, {row.cpu})"
        for name, row in NAMED_TARGETS.items()
    ]


def whole_triple(triple: str) -> str:
    """A triple with its vendor, which `thumbv7em-none-eabi` leaves out.

    LLVM reads `none` as the vendor there, and forgets the ABI.
    """
    architecture, *rest = triple.split("-")
    if len(rest) == 2 and rest[0] == "none":
        rest.insert(0, "unknown")
    return "-".join([architecture, *rest])
