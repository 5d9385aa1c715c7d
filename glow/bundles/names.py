"""Names in the languages that a bundle's headers are in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from glow.backends.bundle_program import BundleFunction, Place
from glow.bundles.bundle import Bundle
from glow.dialects.errors import GlowError

IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

C_KEYWORDS = frozenset(
    "auto break case char const continue default do double else enum extern float for goto "
    "if inline int long register restrict return short signed sizeof static struct switch "
    "typedef union unsigned void volatile while _Bool _Complex _Imaginary".split()
)
CPP_KEYWORDS = frozenset(
    "alignas alignof and and_eq asm bitand bitor bool catch char8_t char16_t char32_t class "
    "compl concept consteval constexpr constinit const_cast co_await co_return co_yield "
    "decltype delete dynamic_cast explicit export false friend mutable namespace new "
    "noexcept not not_eq nullptr operator or or_eq private protected public "
    "reinterpret_cast requires static_assert static_cast template this thread_local throw "
    "true try typeid typename using virtual wchar_t xor xor_eq".split()
)
RUST_KEYWORDS = frozenset(
    "abstract as async await become box crate dyn final fn impl in let loop macro match mod "
    "move mut override priv pub ref self Self super trait type typeof unsafe unsized use "
    "virtual where yield gen".split()
)
C_FUNCTIONS = frozenset(
    "abort abs atexit atof atoi atol bsearch calloc div exit free getenv labs malloc qsort rand "
    "realloc srand strtod strtol strtoul system memchr memcmp memcpy memmove memset strcat "
    "strchr strcmp strcpy strlen strncmp strncpy strrchr strstr strtok fclose fflush fgetc "
    "fgets fopen fprintf fputc fputs fread fscanf fseek ftell fwrite getc getchar perror printf "
    "putc putchar puts remove rename rewind scanf snprintf sprintf sscanf vprintf clock ctime "
    "difftime mktime time isalnum isalpha isdigit islower isspace isupper tolower toupper "
    "raise signal close link open read select sleep write index y0 y1 yn j0 j1 jn gamma".split()
)
MATH_FUNCTIONS = frozenset(
    name + suffix
    for name in (
        "acos acosh asin asinh atan atan2 atanh cbrt ceil cos cosh erf erfc exp exp2 expm1 fabs "
        "floor fma fmax fmin fmod frexp hypot ldexp lgamma log log10 log1p log2 modf pow "
        "remainder rint round roundeven sin sinh sqrt tan tanh tgamma trunc".split()
    )
    for suffix in ("", "f", "l")
)
OWN_NAMES = (
    "main activations check constants is_right mutables number result sample_arrays "
    "sample_entries tolerance weights NULL size_t".split()
)
"""What the example and the headers call something of their own."""

TAKEN = {*C_FUNCTIONS, *MATH_FUNCTIONS, *OWN_NAMES, *(
    f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)
)}  # fmt: skip
"""Names that a program has already."""

OWN_PARTS = ("CONSTANTS", "MUTABLES", "ACTIVATIONS", "STACK", "CHECK", "SLICE", "RESET")
"""What an input must not be called in a header: regions and functions."""

OWN_SYMBOLS = ("check", "constants", "error", "before", "after")
"""What a network must not be called, as `NAME_check` is the function of a bundle."""


def check_name(name: str) -> str:
    """The name; raises GlowError for one that C, C++ or Rust cannot have."""
    keywords = C_KEYWORDS | CPP_KEYWORDS | RUST_KEYWORDS
    if IDENTIFIER.fullmatch(name) is None:
        raise GlowError(
            f"--name: '{name}' is no C identifier", hint="letters, digits and _"
        )
    if name in keywords:
        raise GlowError(f"--name: '{name}' is a keyword of C, C++ or Rust")
    if name in TAKEN or name.startswith("_"):
        raise GlowError(
            f"--name: '{name}' is a name of the C library, the compiler or the example"
        )
    return name


def default_name(stem: str) -> str:
    """A name for the file of a model: what is no letter or digit becomes `_`."""
    name = re.sub(r"\W|[^\x00-\x7f]", "_", stem).strip("_") or "network"
    if name[0].isdigit() or name in C_KEYWORDS | CPP_KEYWORDS | RUST_KEYWORDS:
        name = f"network_{name}"
    return f"{name}_network" if name in TAKEN else name


@dataclass(frozen=True)
class NamedPlace:
    """An input, output or variable with its name in a header: `IMAGE`, or `DETECT_IMAGE` of
    several networks.
    """

    part: str
    kind: str
    """`input`, `output` or `variable`."""
    function: BundleFunction
    place: Place


def named_places(bundle: Bundle) -> Iterator[NamedPlace]:
    """All inputs, outputs and variables, in order; equal names are numbered."""
    several, taken = len(bundle.functions) > 1, set[str](OWN_PARTS)
    for function in bundle.functions:
        prefix = f"{function.name.upper()}_" if several else ""
        found = [
            *(("input", place) for place in function.inputs),
            *(("output", place) for place in function.outputs),
            *(("variable", place) for place in function.variables),
        ]
        for number, (kind, place) in enumerate(found):
            name = prefix + (_upper(place.name) or f"{kind.upper()}{number}")
            name = _unused(name, taken)
            taken.add(name)
            yield NamedPlace(name, kind, function, place)


def _upper(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_").upper()


def _unused(name: str, taken: set[str]) -> str:
    number, found = 2, name
    while found in taken:
        found, number = f"{name}_{number}", number + 1
    return found


def function_names(stems: Sequence[str]) -> Sequence[str]:
    """A name for each network of a bundle, from the names of their files."""
    names: list[str] = []
    reserved = OWN_SYMBOLS if len(stems) > 1 else ()
    for stem in stems:
        names.append(_unused(default_name(stem), {*names, *reserved}))
    return names
