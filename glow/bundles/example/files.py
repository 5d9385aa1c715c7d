"""The example of a bundle: a C program that runs a sample, and how it is built.

`make run` compiles `main.c` with the system's compiler, links the object, runs the sample and
compares what comes out with what the compiler's own run gave.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.resources import files

from glow.bundles.bundle import Array, Bundle
from glow.bundles.names import named_places

BYTES_A_LINE = 20


def example_files(bundle: Bundle) -> Mapping[str, str]:
    """The text of each file by name."""
    return {
        "main.c": filled("main.c", bundle),
        "Makefile": filled("Makefile", bundle),
        f"{bundle.name}.sample.h": sample_header(bundle),
    }


def filled(name: str, bundle: Bundle) -> str:
    """A file of this folder with the bundle's name in it."""
    text = files("glow.bundles.example").joinpath(name).read_text("utf-8")
    linked = bundle.settings.weights == "linked"
    values = {
        "NAME": bundle.name,
        "CONSTANTS": f"{bundle.name}_constants" if linked else "weights",
        "LINKED": "1" if linked else "0",
        "TRIPLE": bundle.target.triple,
        "ALIGNMENT": str(bundle.alignment),
    }
    for key, value in values.items():
        text = text.replace(f"@{key}@", value)
    return text


def sample_header(bundle: Bundle) -> str:
    """Inputs, what comes out for them, and a table of both, in C."""
    name, rows = bundle.name, list[str]()
    arrays: list[str] = []
    each_place = named_places(bundle)
    entries: list[str] = []
    for function, sample in zip(bundle.functions, bundle.samples, strict=True):
        count = len(rows)
        for array in (*sample.inputs, *sample.outputs):
            each = next(each_place)
            label = f"sample_{each.part.lower()}"
            arrays += [f"static const uint8_t {label}[] = {{", *_bytes(array), "};"]
            rows.append(
                f"  {{{label}, {each.place.offset}u, {array.nbytes}u, "
                f"{int(each.kind == 'output')}, {_kind(array)}}},"
            )
        entries.append(
            f'  {{{bundle.entry(function)}, "{function.name}", {count}, {len(rows)}}},'
        )
    sizes = {
        "CONSTANTS": bundle.constants.nbytes,
        "MUTABLES": bundle.mutables_bytes,
        "ACTIVATIONS": bundle.activations_bytes,
    }
    return "\n".join(
        [
            f"/* A sample for {name}: inputs, and the outputs that they give. */",
            *arrays,
            "struct sample_array {",
            "  const uint8_t *bytes;",
            "  unsigned offset, size;",
            "  int is_output;",
            "  char kind; /* f: float, d: double, else compared byte by byte */",
            "};",
            "static const struct sample_array sample_arrays[] = {",
            *rows,
            "};",
            "static const struct {",
            "  int (*run)(const uint8_t *, uint8_t *, uint8_t *);",
            "  const char *name;",
            "  int first, end;",
            "} sample_entries[] = {",
            *entries,
            "};",
            *(f"#define SAMPLE_{key} {max(size, 1)}" for key, size in sizes.items()),
            f"#define SAMPLE_ALIGNMENT {bundle.alignment}",
            f"#define SAMPLE_CONSTANTS_SIZE {bundle.constants.nbytes}",
            "",
        ]
    )


def _kind(array: Array) -> str:
    return {"float32": "'f'", "float64": "'d'"}.get(array.dtype.name, "'i'")


def _bytes(array: Array) -> Iterator[str]:
    content = array.tobytes() or b"\0"
    for start in range(0, len(content), BYTES_A_LINE):
        line = content[start : start + BYTES_A_LINE]
        yield " ".join(f"0x{byte:02X}," for byte in line)
