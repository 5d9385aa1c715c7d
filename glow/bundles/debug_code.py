"""The calls of a bundle's user around each kernel, in LLVM IR (`--debug-callbacks`).

    void NAME_before(uint32_t call, const char *kernel, uint32_t buffers, uint32_t written,
                     uint8_t *const *addresses, const uint32_t *sizes)

and `NAME_after` with the same arguments are functions of the user, who sees all buffers of a
kernel call; the first `written` of them it writes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from glow.backends.bundle_program import BundleFunction, DebugCall
from glow.bundles.entry_code import Machine

CALLBACKS = ("before", "after")


def callbacks_text(
    bundle: str, functions: Sequence[BundleFunction], machine: Machine
) -> str:
    """The functions that mains call, and declarations of those that the user has."""
    lines = [
        f"declare void @{bundle}_{each}(i32, ptr, i32, i32, ptr, ptr)"
        for each in CALLBACKS
    ]
    for function in functions:
        for number, call in enumerate(function.calls):
            lines += _callback(bundle, number, call, machine)
    return "\n".join(lines)


def _callback(
    bundle: str, number: int, call: DebugCall, machine: Machine
) -> Iterator[str]:
    count = len(call.sizes)
    kernel = f"{bundle}_{call.kernel}"
    sizes = ", ".join(f"i32 {size}" for size in call.sizes)
    yield f'@{call.name}_kernel = internal constant [{len(kernel) + 1} x i8] c"{kernel}\\00"'
    yield f"@{call.name}_sizes = internal constant [{count} x i32] [{sizes}]"
    buffers = ", ".join(f"ptr %buffer{n}" for n in range(count))
    yield f"define void @{call.name}({buffers}, {machine.index} %stage) nounwind {{"
    yield f"  %addresses = alloca [{count} x ptr]"
    for n in range(count):
        yield f"  %place{n} = getelementptr [{count} x ptr], ptr %addresses, i32 0, i32 {n}"
        yield f"  store ptr %buffer{n}, ptr %place{n}"
    yield f"  %is_before = icmp eq {machine.index} %stage, 0"
    yield "  br i1 %is_before, label %before, label %after"
    told = (
        f"i32 {number}, ptr @{call.name}_kernel, i32 {count}, i32 {call.writes}, "
        f"ptr %addresses, ptr @{call.name}_sizes"
    )
    for each in CALLBACKS:
        yield f"{each}:"
        yield f"  call void @{bundle}_{each}({told})"
        yield "  ret void"
    yield "}"
