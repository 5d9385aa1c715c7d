"""The example of a bundle: a C program that runs a sample, and how it is built.

`make run` compiles `main.c` with the system's compiler, links the object, runs the sample and
compares what comes out with what the compiler's own run gave. For microcontrollers there are
start-up code and a linker script, too, and QEMU's board runs it (`boards.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from importlib.resources import files
from types import MappingProxyType

from glow.bundles.bundle import Array, Bundle
from glow.bundles.example.boards import BOARDS
from glow.bundles.example.web_files import web_files
from glow.bundles.names import named_places

BYTES_A_LINE = 20

NO_PARTS: Mapping[str, str] = MappingProxyType({})


def example_files(bundle: Bundle) -> Mapping[str, str]:
    """The text of each file by name."""
    if bundle.target.is_wasm:
        return web_files(bundle)
    sample = {
        "main.c": filled("main.c", bundle),
        f"{bundle.name}.sample.h": sample_header(bundle),
    }
    board = BOARDS.get(bundle.target.cpu)
    if board is None:
        return {**sample, "Makefile": filled("Makefile", bundle)}
    parts = board.parts(bundle.target.cpu)
    return {
        **sample,
        "Makefile": filled("board.mk", bundle, parts),
        "startup.c": filled("startup.c", bundle, parts),
        "board.ld": filled("board.ld", bundle, parts),
    }


def filled(name: str, bundle: Bundle, parts: Mapping[str, str] = NO_PARTS) -> str:
    """A file of this folder with the bundle's name, sizes and other parts in it."""
    text = files("glow.bundles.example").joinpath(name).read_text("utf-8")
    linked = bundle.settings.weights == "linked"
    values = {
        "NAME": bundle.name,
        "CONSTANTS": f"{bundle.name}_constants" if linked else "weights",
        "LINKED": "1" if linked else "0",
        "TRIPLE": bundle.target.triple,
        "ARCH": bundle.target.triple.partition("-")[0],
        "ALIGNMENT": str(bundle.alignment),
        "CONSTANTS_BYTES": str(bundle.constants.nbytes),
        "MUTABLES_BYTES": str(max(bundle.mutables_bytes, 1)),
        "ACTIVATIONS_BYTES": str(max(bundle.activations_bytes, 1)),
        **parts,
    }
    return re.sub(r"@([A-Z_]+)@", lambda found: values[found[1]], text)


def sample_header(bundle: Bundle) -> str:
    """Inputs, what comes out for them, and a table of both, in C."""
    places = (each for each in named_places(bundle) if each.kind != "variable")
    count = 0
    arrays: list[str] = []
    rows: list[str] = []
    entries: list[str] = []
    for function, sample in zip(bundle.functions, bundle.samples, strict=True):
        found = [*sample.inputs, *sample.outputs]
        for array, each in zip(found, places, strict=False):
            label = f"sample_{each.part.lower()}"
            arrays += [f"static const uint8_t {label}[] = {{", *_bytes(array), "};"]
            is_output = int(each.kind == "output")
            rows.append(
                f"  {{{label}, {each.place.offset}u, {array.nbytes}u, {is_output}, "
                f"{_kind(array)}}},"
            )
        entry, first, count = bundle.entry(function), count, count + len(found)
        reset = f"{entry}_reset" if function.variables else "0"
        entries.append(f'  {{{entry}, {reset}, "{function.name}", {first}, {count}}},')
    lists = {"ARRAYS": arrays, "ROWS": rows, "ENTRIES": entries}
    parts = {key: "\n".join(lines) for key, lines in lists.items()}
    return filled("sample.h", bundle, parts)


def _kind(array: Array) -> str:
    return {"float32": "'f'", "float64": "'d'"}.get(array.dtype.name, "'i'")


def _bytes(array: Array) -> Iterator[str]:
    content = array.tobytes() or b"\0"
    for start in range(0, len(content), BYTES_A_LINE):
        line = content[start : start + BYTES_A_LINE]
        yield " ".join(f"0x{byte:02X}," for byte in line)
