"""The files by which browsers and Node run a bundle: `NAME.mjs`, its types, and a sample.

`NAME.mjs` loads the module and the weights beside it; `NAME.d.mts` declares it with the names and
array types of this bundle, for TypeScript. `NAME.sample.mjs` runs a sample, in Node by itself and
in browsers from `index.html`.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from importlib.resources import files

from glow.backends.bundle_program import Place
from glow.bundles.bundle import Bundle
from glow.bundles.manifest import manifest

DESCRIBED = (
    "name",
    "weights",
    "alignment",
    "constants_bytes",
    "mutables_bytes",
    "activations_bytes",
    "entries",
)
"""What of the manifest `NAME.mjs` holds."""

ARRAYS = {
    "bool": "Uint8Array",
    "int64": "BigInt64Array",
    "uint64": "BigUint64Array",
    "float16": "Uint16Array",
    "bfloat16": "Uint16Array",
}
"""JavaScript's arrays, where they have other names than the elements."""


def web_files(bundle: Bundle) -> Mapping[str, str]:
    """The text of each file by name."""
    types = network_types(bundle)
    description = {key: manifest(bundle)[key] for key in DESCRIBED}
    values = {
        "NAME": bundle.name,
        "MANIFEST": json.dumps(description, indent=2),
        "SAMPLES": json.dumps(samples(bundle), indent=2),
        "NETWORK": next(iter(types.values())),
        "NETWORKS": "\n".join(f"  {json.dumps(n)}: {t};" for n, t in types.items()),
    }
    names = {
        "network.mjs": f"{bundle.name}.mjs",
        "network.d.mts": f"{bundle.name}.d.mts",
        "sample.mjs": f"{bundle.name}.sample.mjs",
        "index.html": "index.html",
    }
    return {name: _filled(source, values) for source, name in names.items()}


def samples(bundle: Bundle) -> Mapping[str, Mapping[str, str]]:
    """Inputs and outputs of each network by name, in base64."""
    found: dict[str, dict[str, str]] = {}
    for function, sample in zip(bundle.functions, bundle.samples, strict=True):
        places = (*function.inputs, *function.outputs)
        arrays = (*sample.inputs, *sample.outputs)
        found[function.name] = {
            place.name: base64.b64encode(array.tobytes()).decode("ascii")
            for place, array in zip(places, arrays, strict=True)
        }
    return found


def network_types(bundle: Bundle) -> Mapping[str, str]:
    """TypeScript's type of each network by name: its inputs and its outputs."""
    found: dict[str, str] = {}
    for function in bundle.functions:
        sides: list[str] = []
        for places in (function.inputs, function.outputs):
            rows = [f"  {json.dumps(p.name)}: {array_type(p)};" for p in places]
            sides.append("\n".join(["{", *rows, "}"]))
        found[function.name] = f"Network<{', '.join(sides)}>"
    return found


def array_type(place: Place) -> str:
    """JavaScript's array of an input or output, with its shape as a comment."""
    name = place.dtype.name
    array = ARRAYS.get(name, f"{name.capitalize()}Array")
    return f"{array} /* {name}{list(place.shape)} */"


def _filled(name: str, values: Mapping[str, str]) -> str:
    text = files("glow.bundles.example").joinpath(name).read_text("utf-8")
    for key, value in values.items():
        text = text.replace(f"@{key}@", value)
    return text
