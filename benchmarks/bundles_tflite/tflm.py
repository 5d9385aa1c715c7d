"""TensorFlow Lite Micro for a Cortex-M4: what its smallest program takes for a network.

The library is compiled for size, without the texts of errors, with the reference kernels, which
are its smallest; the linker keeps what a network's operators need. An empty program of the same
start-up code and C library is taken off. Its arena is what the interpreter itself tells on
QEMU's board, inputs and outputs included.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from string import Template

from glow.bundles.example.boards import BOARDS

HERE = Path(__file__).parent
CPU = "cortex-m4"

REPOSITORIES: Mapping[str, tuple[str, str]] = {
    "tflite-micro": (
        "https://github.com/tensorflow/tflite-micro",
        "90b983c2b3f1480642e040bbd2ddb37b998f3424",
    ),
    "flatbuffers": ("https://github.com/google/flatbuffers", "v25.9.23"),
    "gemmlowp": (
        "https://github.com/google/gemmlowp",
        "16e8662c34917be0065110bfcd9cc27d30f52fdf",
    ),
    "ruy": (
        "https://github.com/google/ruy",
        "2af88863614a8298689cc52b1a47b3fcad7be835",
    ),
}
"""Each with what git fetches of it; all but the first are headers."""

INCLUDES = ("tflite-micro", "flatbuffers/include", "gemmlowp", "ruy")

LITE = "tensorflow/lite"
SOURCES = (
    f"{LITE}/core/*/*.cc",
    f"{LITE}/kernels/kernel_util.cc",
    f"{LITE}/kernels/internal/*.cc",
    f"{LITE}/micro/[dfms]*.cc",
    f"{LITE}/micro/arena_allocator/*.cc",
    f"{LITE}/micro/memory_planner/*.cc",
    f"{LITE}/micro/tflite_bridge/*.cc",
    f"{LITE}/micro/kernels/kernel_util.cc",
    "tensorflow/compiler/mlir/lite/*/*.cc",
    "tensorflow/compiler/mlir/lite/core/api/*.cc",
)
LEFT_OUT = re.compile(r"test|mock|fake|recording_micro")

KERNELS: Mapping[str, tuple[str, str]] = {
    "ADD": ("add", "AddAdd"),
    "AVERAGE_POOL_2D": ("pooling", "AddAveragePool2D"),
    "CONV_2D": ("conv", "AddConv2D"),
    "DEPTHWISE_CONV_2D": ("depthwise_conv", "AddDepthwiseConv2D"),
    "FULLY_CONNECTED": ("fully_connected", "AddFullyConnected"),
}
"""By operator: its files, and the function that registers it."""

FLAGS = (
    "-mthumb -Os -w -ffunction-sections -fdata-sections "
    "-DTF_LITE_STATIC_MEMORY -DTF_LITE_STRIP_ERROR_STRINGS -DNDEBUG"
).split()
CXX_FLAGS = (
    "-std=c++17 -fno-rtti -fno-exceptions -fno-threadsafe-statics -fno-unwind-tables "
    "-fno-asynchronous-unwind-tables -fno-use-cxa-atexit"
).split()
LINK_FLAGS = (
    "--specs=nano.specs --specs=rdimon.specs -nostartfiles "
    "-Wl,--gc-sections,-z,noexecstack,--no-warn-mismatch -T"
).split()

MODEL = """
.section .rodata.network,"a",%progbits
.global model
.balign 16
model: .incbin "model.tflite"
"""

CODE_SECTIONS = (".text", ".rodata", ".ARM.exidx", ".arrays", ".data")
RAM_SECTIONS = (".data", ".bss")

ARENA_BYTES = 1 << 20
SECONDS = 300


@dataclass(frozen=True)
class Taken:
    """What a program takes, in bytes."""

    code: int
    ram: int


@dataclass(frozen=True)
class Compiler:
    """GCC for the board whose files a bundle's example has."""

    board: Path
    """The folder with `startup.c` and `board.ld`."""

    def run(self, language: str, *arguments: object, cwd: Path) -> None:
        """Run a compiler; raises SystemExit with what it says."""
        plus = language == "c++"
        command = [f"arm-none-eabi-{'g++' if plus else 'gcc'}", *FLAGS]
        command += [*BOARDS[CPU].flags.split(), "-mfpu=fpv4-sp-d16"]
        command += [*CXX_FLAGS] * plus
        done = subprocess.run(
            [*command, *map(str, arguments)], cwd=cwd, capture_output=True, text=True
        )
        if done.returncode:
            raise SystemExit(done.stderr)

    def link(self, folder: Path, name: str, *inputs: object) -> Mapping[str, int]:
        """Link a program; the bytes of its sections."""
        script = [*LINK_FLAGS, self.board / "board.ld", self.board / "startup.c"]
        self.run("c", *script, *inputs, "-lstdc++", "-lm", "-o", name, cwd=folder)
        done = subprocess.run(
            ["arm-none-eabi-size", "-A", name],
            cwd=folder,
            check=True,
            capture_output=True,
            text=True,
        )
        found = re.findall(r"^(\.\S+)\s+(\d+)", done.stdout, re.MULTILINE)
        return {section: int(size) for section, size in found}


def fetched(folder: Path) -> Path:
    """The folder of all repositories, which git fetches once."""
    for name, (address, commit) in REPOSITORIES.items():
        path = folder / name
        if path.exists():
            continue
        git = ["git", "-C", str(path)]
        subprocess.run(["git", "init", "--quiet", str(path)], check=True)
        subprocess.run([*git, "fetch", "-q", "--depth=1", address, commit], check=True)
        subprocess.run([*git, "checkout", "-q", "FETCH_HEAD"], check=True)
    return folder.resolve()


def library(repositories: Path, compiler: Compiler, folder: Path) -> Path:
    """All that networks may need as one archive."""
    root = repositories / "tflite-micro"
    files = {
        path
        for pattern in SOURCES
        for path in root.glob(pattern)
        if not LEFT_OUT.search(path.name)
    }
    for name, _ in KERNELS.values():
        files |= {
            root / LITE / "micro" / "kernels" / f"{name}{end}.cc"
            for end in ("", "_common")
        }

    def compiled(path: Path) -> str:
        name = str(path.relative_to(root)).replace("/", "_") + ".o"
        compiler.run("c++", *includes(repositories), "-c", path, "-o", name, cwd=folder)
        return name

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(compiled, sorted(files)))
    archive = folder / "libtflm.a"
    command = ["arm-none-eabi-ar", "rcs", archive.name, *objects]
    subprocess.run(command, cwd=folder, check=True)
    return archive


def includes(repositories: Path) -> list[str]:
    """The options for headers."""
    return [f"-I{repositories / name}" for name in INCLUDES]


def taken(
    content: bytes,
    operators: Sequence[str],
    repositories: Path,
    compiler: Compiler,
    archive: Path,
) -> Taken:
    """What the program of a model takes."""
    folder = archive.parent
    (folder / "model.tflite").write_bytes(content)
    (folder / "model.S").write_text(MODEL)
    (folder / "empty.c").write_text("int main(void) { return 0; }")
    (folder / "network.cc").write_text(source_of(operators))

    def sections(name: str, *flags: str) -> Mapping[str, int]:
        flags = (*flags, f"-DARENA_BYTES={ARENA_BYTES}")
        options = [*includes(repositories), *flags, "-c", "network.cc", "-o", "main.o"]
        compiler.run("c++", *options, cwd=folder)
        return compiler.link(folder, name, "main.o", "model.S", archive)

    program, empty = (
        sections("network.elf"),
        compiler.link(folder, "empty.elf", "empty.c"),
    )
    sections("report.elf", "-DREPORT")
    arena = reported_arena(folder / "report.elf")
    ram = difference(program, empty, RAM_SECTIONS) - ARENA_BYTES + arena
    return Taken(difference(program, empty, CODE_SECTIONS), ram)


def source_of(operators: Sequence[str]) -> str:
    """The program of a network."""
    calls = [f"resolver.{KERNELS[name][1]}();" for name in operators]
    return Template((HERE / "network.cc").read_text()).substitute(
        count=len(calls), operators="\n  ".join(calls)
    )


def difference(
    sections: Mapping[str, int], others: Mapping[str, int], names: Iterable[str]
) -> int:
    """How much more some sections take."""
    return sum(sections.get(name, 0) - others.get(name, 0) for name in names)


def reported_arena(program: Path) -> int:
    """The bytes of the arena that a program on the board prints."""
    console = ["-semihosting-config", "enable=on,target=native"]
    quiet = ["-display", "none", "-monitor", "none", "-serial", "none"]
    command = ["qemu-system-arm", "-M", BOARDS[CPU].machine, *quiet, *console]
    done = subprocess.run(
        [*command, "-kernel", str(program)],
        check=True,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    return int(done.stdout)
