"""The Rust module of a bundle, without the standard library: what the C header says."""

from __future__ import annotations

import re
from collections.abc import Iterator

from glow import __version__
from glow.bundles.bundle import ERRORS, OK, Bundle
from glow.bundles.entry_code import filled
from glow.bundles.names import RUST_KEYWORDS, NamedPlace, named_places

ELEMENT_TYPES = {
    "float32": "f32",
    "float64": "f64",
    "bool": "u8",
    "float16": "u16",
    "bfloat16": "u16",
    **{f"int{n}": f"i{n}" for n in (8, 16, 32, 64)},
    **{f"uint{n}": f"u{n}" for n in (8, 16, 32, 64)},
}
"""Rust's types of elements by NumPy's names; 16-bit floats are their bits."""

REGIONS = "constants: *const u8, mutables: *mut u8, activations: *mut u8"


def rust_module(bundle: Bundle) -> str:
    """The text of `NAME.rs`."""
    lines = [
        f"//! {bundle.name}: networks compiled for {bundle.target_name} by glow "
        f"{__version__}. Needs no standard library.",
        "#![allow(dead_code, unused_comparisons)]",
        "",
        *_sizes(bundle),
        "",
        *_errors(),
        *(line for each in named_places(bundle) for line in _place(each, bundle)),
        "",
        *_functions(bundle),
    ]
    return "\n".join(lines) + "\n"


def _sizes(bundle: Bundle) -> Iterator[str]:
    sizes = {
        "CONSTANTS_BYTES": bundle.constants.nbytes,
        "MUTABLES_BYTES": bundle.mutables_bytes,
        "ACTIVATIONS_BYTES": bundle.activations_bytes,
        "STACK_BYTES": bundle.stack_bytes,
        "ALIGNMENT": bundle.alignment,
    }
    for name, size in sizes.items():
        if size is not None:
            yield f"pub const {name}: usize = {size};"


def _errors() -> Iterator[str]:
    errors = {name: each for name, each in ERRORS.items() if each[0] != OK}
    yield "#[derive(Clone, Copy, Debug, PartialEq, Eq)]"
    yield "pub enum Error {"
    for name, (_, reason) in errors.items():
        yield f"    /// {reason}"
        yield f"    {_camel(name)},"
    yield "    /// a region has fewer bytes than the network takes"
    yield "    TooSmall,"
    yield "}"
    yield from _result([(number, name) for name, (number, _) in errors.items()])


def _result(errors: list[tuple[int, str]]) -> Iterator[str]:
    *most, (_, last) = errors
    yield ""
    yield "fn result(code: i32) -> Result<(), Error> {"
    yield "    match code {"
    yield f"        {OK} => Ok(()),"
    for number, name in most:
        yield f"        {number} => Err(Error::{_camel(name)}),"
    yield f"        _ => Err(Error::{_camel(last)}),"
    yield "    }"
    yield "}"


def _place(each: NamedPlace, bundle: Bundle) -> Iterator[str]:
    place = each.place
    name = each.part.lower()
    name = f"{name}_" if name in RUST_KEYWORDS else name
    name = f"n{name}" if name[0].isdigit() else name
    shape = ", ".join(map(str, place.shape))
    yield ""
    yield f"/// The {each.kind} {place.name!a}, in the mutables."
    yield f"pub mod {name} {{"
    yield f"    pub const OFFSET: usize = {place.offset};"
    yield f"    pub const BYTES: usize = {place.nbytes};"
    yield f"    pub const SHAPE: [usize; {len(place.shape)}] = [{shape}];"
    yield f"    pub type Element = {ELEMENT_TYPES[place.dtype.name]};"
    quantization = bundle.quantization.get((each.function.name, place.name))
    if quantization is not None:
        yield f"    pub const SCALE: f32 = {quantization.scale!r};"
        yield f"    pub const ZERO_POINT: i32 = {quantization.zero_point};"
    yield "}"


CHECK = """
/// Whether these are the weights of the code.
pub fn check(constants: &[u8]) -> Result<(), Error> {
    result(unsafe { check_weights(constants.as_ptr(), constants.len()) })
}"""

LINKED = """
/// The weights, which are linked with the code.
pub fn constants() -> &'static [u8] {
    unsafe { &*core::ptr::addr_of!(LINKED_CONSTANTS) }
}"""

ENTRY = """
/// @WHAT@
pub fn @NAME@(
    constants: &[u8],
    mutables: &mut [u8],
    activations: &mut [u8],
) -> Result<(), Error> {
    if constants.len() < CONSTANTS_BYTES
        || mutables.len() < @MUTABLES@
        || activations.len() < @ACTIVATIONS@
    {
        return Err(Error::TooSmall);
    }
    let (mutables, activations) = (mutables.as_mut_ptr(), activations.as_mut_ptr());
    result(unsafe { @NAME@_entry(constants.as_ptr(), mutables, activations) })
}"""


def _functions(bundle: Bundle) -> Iterator[str]:
    yield from _foreign(bundle)
    yield CHECK
    if bundle.settings.weights == "linked":
        yield LINKED
    for function in bundle.functions:
        values = {
            "@NAME@": bundle.entry(function),
            "@WHAT@": "Reads inputs in the mutables and writes outputs there.",
            "@MUTABLES@": str(function.mutables_bytes),
            "@ACTIVATIONS@": str(function.activations_bytes),
        }
        yield filled(ENTRY, values)
        if function.variables:
            what = "Gives variables, in the mutables, their first values: call it once before."
            name = f"{bundle.entry(function)}_reset"
            yield filled(ENTRY, {**values, "@NAME@": name, "@WHAT@": what})


def _foreign(bundle: Bundle) -> Iterator[str]:
    """What the object has."""
    name = bundle.name
    yield 'unsafe extern "C" {'
    if bundle.settings.weights == "linked":
        yield f'    #[link_name = "{name}_constants"]'
        yield f"    static LINKED_CONSTANTS: [u8; {max(bundle.constants.nbytes, 1)}];"
    yield f'    #[link_name = "{name}_check"]'
    yield "    fn check_weights(constants: *const u8, size: usize) -> i32;"
    for function in bundle.functions:
        entry = bundle.entry(function)
        for symbol in [entry, f"{entry}_reset"][: 2 if function.variables else 1]:
            yield f'    #[link_name = "{symbol}"]'
            yield f"    fn {symbol}_entry({REGIONS}) -> i32;"
    yield "}"


def _camel(name: str) -> str:
    """`BAD_WEIGHTS` as `BadWeights`."""
    return re.sub(r"_?([A-Z])([A-Z]*)", lambda m: m[1] + m[2].lower(), name)
