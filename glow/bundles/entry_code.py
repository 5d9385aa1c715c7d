"""The functions of a bundle that callers see, in LLVM IR.

    int NAME(const uint8_t *constants, uint8_t *mutables, uint8_t *activations)
    int NAME_check(const uint8_t *constants, size_t size)
    int NAME_reset(const uint8_t *constants, uint8_t *mutables, uint8_t *activations)
    int NAME_slice(..., uint32_t thread, uint32_t threads, void (*barrier)(void *), void *)

All state is in the arguments. An entry tests the alignment of the three regions, clears the
bytes in which calls note errors, runs, and looks at them. Weights are checked apart from that,
since they need it once only: the size, then the CRC-32 bit by bit, without a table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

from glow.backends.bundle_program import BundleFunction
from glow.bundles.bundle import BAD_INDEX, BAD_WEIGHTS, UNALIGNED

REGIONS = "ptr %constants, ptr %mutables, ptr %activations"


@dataclass(frozen=True)
class Machine:
    """What of a target the text depends on."""

    index_bits: int
    alignment: int

    @property
    def index(self) -> str:
        """The type of addresses."""
        return f"i{self.index_bits}"


def entry_text(name: str, function: BundleFunction, machine: Machine) -> str:
    """The entry that makes the whole work of a network."""
    index = machine.index
    return "\n".join(
        [
            f"define i32 @{name}({REGIONS}) nounwind {{",
            *_alignment_test(machine),
            *_clear_reports(function),
            f"  call void @main_{function.name}({REGIONS}, {index} 0, {index} 1, ptr null)",
            *_result(function),
            "}",
        ]
    )


def slice_text(name: str, function: BundleFunction, machine: Machine) -> str:
    """The entry that one of several threads calls, which share the work.

    `barrier` returns once all threads have called it. Where data may be wrong, the first
    thread clears the notes before anybody works, and all read them once everybody has.
    """
    wait = ["  call void %barrier(ptr %context)"] if function.reports else []
    threads = ", ".join(f"{machine.index} %{each}.wide" for each in NUMBERS)
    return "\n".join(
        [
            f"define i32 @{name}_slice({REGIONS}, i32 %thread, i32 %threads, "
            "ptr %barrier, ptr %context) nounwind {",
            *_alignment_test(machine),
            *_widened(machine),
            *STORED_BARRIER,
            *_clear_reports(function),
            *wait,
            f"  call void @main_{function.name}({REGIONS}, {threads}, ptr %pair)",
            *wait,
            *_result(function),
            "}",
        ]
    )


def reset_text(name: str, function: BundleFunction, machine: Machine) -> str:
    """The function that gives variables their first values: from the constants, or zeros."""
    lines, index = list[str](), machine.index
    for number, each in enumerate(function.variables):
        place = f"%variable{number}"
        lines.append(
            f"  {place} = getelementptr i8, ptr %mutables, {index} {each.offset}"
        )
        rest = f"{index} {each.nbytes}, i1 false)"
        if each.initial is None:
            zeros = f"call void @llvm.memset.p0.{index}(ptr {place}, i8 0, {rest}"
            lines.append(f"  {zeros}")
            continue
        value = f"%value{number}"
        lines += [
            f"  {value} = getelementptr i8, ptr %constants, {index} {each.initial}",
            f"  call void @llvm.memcpy.p0.p0.{index}(ptr {place}, ptr {value}, {rest}",
        ]
    return "\n".join(
        [
            f"define i32 @{name}_reset({REGIONS}) nounwind {{",
            *_alignment_test(machine),
            *lines,
            "  ret i32 0",
            "}",
        ]
    )


def reset_declarations(machine: Machine) -> str:
    """What `reset_text` calls."""
    index = machine.index
    return "\n".join(
        [
            f"declare void @llvm.memset.p0.{index}(ptr, i8, {index}, i1)",
            f"declare void @llvm.memcpy.p0.p0.{index}(ptr, ptr, {index}, i1)",
        ]
    )


NUMBERS = ("thread", "threads")

STORED_BARRIER = (
    "  %pair = alloca { ptr, ptr }",
    "  store ptr %barrier, ptr %pair",
    "  %second = getelementptr { ptr, ptr }, ptr %pair, i32 0, i32 1",
    "  store ptr %context, ptr %second",
)
"""What `glow_barrier` finds: the caller's function and its argument."""


def _widened(machine: Machine) -> Sequence[str]:
    """The numbers of threads as wide as addresses."""
    if machine.index_bits == 32:
        return [f"  %{each}.wide = add i32 %{each}, 0" for each in NUMBERS]
    return [f"  %{each}.wide = zext i32 %{each} to {machine.index}" for each in NUMBERS]


def barrier_text(machine: Machine) -> str:
    """The barrier that `main` calls: that of the caller, if there are several threads."""
    return f"""
define void @glow_barrier(ptr %pair, {machine.index} %threads) alwaysinline nounwind {{
  %alone = icmp eq {machine.index} %threads, 1
  br i1 %alone, label %done, label %wait
wait:
  %barrier = load ptr, ptr %pair
  %second = getelementptr {{ ptr, ptr }}, ptr %pair, i32 0, i32 1
  %context = load ptr, ptr %second
  call void %barrier(ptr %context)
  br label %done
done:
  ret void
}}"""


def check_text(name: str, size: int, checksum: int, machine: Machine) -> str:
    """The function that compares weights with those of the code."""
    values = {
        "@NAME@": name,
        "@INDEX@": machine.index,
        "@SIZE@": str(size),
        "@CHECKSUM@": str(checksum),
        "@BAD_WEIGHTS@": str(BAD_WEIGHTS),
    }
    return filled(files("glow.bundles").joinpath("check.ll").read_text("utf-8"), values)


def filled(text: str, values: Mapping[str, str]) -> str:
    """A template with its `@NAME@`s replaced."""
    for key, value in values.items():
        text = text.replace(key, value)
    return text


def constants_text(name: str, content: bytes, alignment: int) -> str:
    """Linked weights: the object `NAME_constants` in the section `.rodata.NAME`."""
    text = "".join(f"\\{byte:02X}" for byte in content)
    return (
        f"@{name}_constants = constant [{len(content)} x i8] "
        f'c"{text}", section ".rodata.{name}", align {alignment}'
    )


def _alignment_test(machine: Machine) -> Sequence[str]:
    index, low = machine.index, machine.alignment - 1
    return [
        f"  %c = ptrtoint ptr %constants to {index}",
        f"  %m = ptrtoint ptr %mutables to {index}",
        f"  %a = ptrtoint ptr %activations to {index}",
        f"  %cm = or {index} %c, %m",
        f"  %all = or {index} %cm, %a",
        f"  %low = and {index} %all, {low}",
        f"  %aligned = icmp eq {index} %low, 0",
        "  br i1 %aligned, label %run, label %unaligned",
        "unaligned:",
        f"  ret i32 {UNALIGNED}",
        "run:",
    ]


def _clear_reports(function: BundleFunction) -> Sequence[str]:
    lines: list[str] = []
    for number in range(len(function.reports)):
        place = f"%report{number}"
        offset = function.reports_offset + number
        lines += [
            f"  {place} = getelementptr i8, ptr %mutables, i32 {offset}",
            f"  store i8 0, ptr {place}",
        ]
    return lines


def _result(function: BundleFunction) -> Sequence[str]:
    """0, or the error where one of the bytes is set."""
    lines, found = list[str](), "0"
    for number in range(len(function.reports)):
        lines += [
            f"  %note{number} = load i8, ptr %report{number}",
            f"  %found{number} = or i8 {found}, %note{number}",
        ]
        found = f"%found{number}"
    if not function.reports:
        return ["  ret i32 0"]
    return [
        *lines,
        f"  %wrong = icmp ne i8 {found}, 0",
        f"  %error = select i1 %wrong, i32 {BAD_INDEX}, i32 0",
        "  ret i32 %error",
    ]
