"""The C header of a bundle, for C99 and C++: sizes, places of inputs and outputs, functions."""

from __future__ import annotations

from collections.abc import Iterator

from glow import __version__
from glow.bundles.bundle import ERRORS, Bundle
from glow.bundles.entry_code import filled
from glow.bundles.names import NamedPlace, named_places

ELEMENT_TYPES = {
    "float32": "float",
    "float64": "double",
    "bool": "uint8_t",
    "float16": "uint16_t",
    "bfloat16": "uint16_t",
    **{
        f"{sign}int{n}": f"{sign}int{n}_t"
        for sign in ("", "u")
        for n in (8, 16, 32, 64)
    },
}
"""C's types of elements by NumPy's names; 16-bit floats are their bits."""

GLOW_STRUCTS = """\
/* Glow's description of a bundle; bundles of one program share it. */
#ifndef GLOW_BUNDLE_CONFIG
#define GLOW_BUNDLE_CONFIG
typedef struct SymbolTableEntry {
  const char *name; /* of an input, output or variable */
  uint64_t offset;  /* in the mutables */
  uint64_t size;    /* its elements */
  char kind;        /* 1: mutable */
} SymbolTableEntry;
typedef struct BundleConfig {
  uint64_t constantWeightVarsMemSize;
  uint64_t mutableWeightVarsMemSize;
  uint64_t activationsMemSize;
  uint64_t alignment;
  uint64_t numSymbols;
  const SymbolTableEntry *symbolTable;
} BundleConfig;
#endif
"""


HEADER = """\
/* @NAME@: networks compiled for @TARGET@ by glow @VERSION@. */
#ifndef @UPPER@_H
#define @UPPER@_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

@BODY@
#ifdef __cplusplus
}
#endif
#endif /* @UPPER@_H */
"""


def c_header(bundle: Bundle) -> str:
    """The text of `NAME.h`."""
    body = _dynamic(bundle) if bundle.settings.api == "dynamic" else _static(bundle)
    values = {
        "@NAME@": bundle.name,
        "@UPPER@": bundle.name.upper(),
        "@TARGET@": bundle.target_name,
        "@VERSION@": __version__,
        "@BODY@": "\n".join([*_errors(bundle), "", *body, "", *_functions(bundle)]),
    }
    return filled(HEADER, values)


def _errors(bundle: Bundle) -> Iterator[str]:
    prefix = bundle.name.upper()
    yield f"enum {bundle.name}_error {{"
    for name, (number, reason) in ERRORS.items():
        comma = "," if number + 1 < len(ERRORS) else ""
        yield f"  {prefix}_{name} = {number}{comma} /* {reason} */"
    yield "};"


def _static(bundle: Bundle) -> Iterator[str]:
    """Macros."""
    prefix = bundle.name.upper()
    yield "/* The bytes of the three regions and of the stack, and how they are aligned. */"
    sizes = {
        "CONSTANTS_BYTES": bundle.constants.nbytes,
        "MUTABLES_BYTES": bundle.mutables_bytes,
        "ACTIVATIONS_BYTES": bundle.activations_bytes,
        "STACK_BYTES": bundle.stack_bytes,
        "ALIGNMENT": bundle.alignment,
    }
    for name, size in sizes.items():
        if size is not None:
            yield f"#define {prefix}_{name} {size}u"
    yield f"#define {prefix}_CHECKSUM 0x{bundle.checksum:08X}u /* CRC-32 */"
    for each in named_places(bundle):
        yield ""
        yield from _place(f"{prefix}_{each.part}", each, bundle)


def _place(prefix: str, each: NamedPlace, bundle: Bundle) -> Iterator[str]:
    place = each.place
    shape = ", ".join(map(str, place.shape))
    of = f" of {each.function.name}" if len(bundle.functions) > 1 else ""
    kept = ", which calls keep" if each.kind == "variable" else ""
    yield f"/* The {each.kind} '{comment(place.name)}'{of}, in the mutables{kept}. */"
    yield f"#define {prefix}_OFFSET {place.offset}u"
    yield f"#define {prefix}_BYTES {place.nbytes}u"
    yield f"#define {prefix}_TYPE {ELEMENT_TYPES[place.dtype.name]}"
    yield f"#define {prefix}_RANK {len(place.shape)}"
    yield f"#define {prefix}_SHAPE {{{shape or 1}}}"
    quantization = bundle.quantization.get((each.function.name, place.name))
    if quantization is not None:
        yield f"#define {prefix}_SCALE {quantization.scale!r}f"
        yield f"#define {prefix}_ZERO_POINT ({quantization.zero_point})"


def comment(text: str) -> str:
    """Text that cannot end a comment."""
    return text.replace("*/", "* /").encode("ascii", "backslashreplace").decode()


def _dynamic(bundle: Bundle) -> Iterator[str]:
    """Glow's structures, which the object holds."""
    yield GLOW_STRUCTS
    for function in bundle.functions:
        yield f"extern const BundleConfig {bundle.entry(function)}_config;"


ENTRY = "(const uint8_t *constants, uint8_t *mutables, uint8_t *activations"

SLICE = """,
    uint32_t thread, uint32_t threads, void (*barrier)(void *), void *context"""

CALLBACKS = """\
/* Functions of yours, called around each kernel: its first buffers it writes. */
void @NAME@_before(uint32_t call, const char *kernel, uint32_t buffers, uint32_t written,
    uint8_t *const *addresses, const uint32_t *sizes);
void @NAME@_after(uint32_t call, const char *kernel, uint32_t buffers, uint32_t written,
    uint8_t *const *addresses, const uint32_t *sizes);
"""


def _functions(bundle: Bundle) -> Iterator[str]:
    name = bundle.name
    if bundle.settings.weights == "linked":
        yield f"/* The weights, in the section .rodata.{name}. */"
        yield f"extern const uint8_t {name}_constants[{max(bundle.constants.nbytes, 1)}];"
        yield ""
    yield f"/* {name.upper()}_OK if these are the weights of the code. */"
    yield f"int {name}_check(const uint8_t *constants, size_t size);"
    yield ""
    if bundle.settings.debug_callbacks:
        yield filled(CALLBACKS, {"@NAME@": name})
    yield from _entries(bundle)
    yield ""


def _entries(bundle: Bundle) -> Iterator[str]:
    for function in bundle.functions:
        if function.variables:
            yield "/* Gives variables, in the mutables, their first values: call it once before. */"
            yield f"int {bundle.entry(function)}_reset{ENTRY});"
    yield "/* Reads inputs in the mutables and writes outputs there. All state is in the"
    yield "   arguments: threads may call it with regions of their own. 0, or an error of"
    yield f"   {bundle.name}_error. */"
    for entry in map(bundle.entry, bundle.functions):
        yield f"int {entry}{ENTRY});"
        if bundle.settings.threads:
            yield "/* What one of the threads does of it; barrier waits for all of them. */"
            yield f"int {entry}_slice{ENTRY}{SLICE});"
