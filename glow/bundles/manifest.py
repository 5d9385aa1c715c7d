"""`NAME.json`: what programs read of a bundle."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict

from glow import __version__
from glow.backends.bundle_program import BundleFunction, Place
from glow.bundles.bundle import Bundle
from glow.bundles.names import NamedPlace, named_places

FORMAT = 1
"""Of the manifest: readers refuse another one."""


def manifest_text(bundle: Bundle) -> str:
    """The text of `NAME.json`."""
    return json.dumps(manifest(bundle), indent=2) + "\n"


def manifest(bundle: Bundle) -> Mapping[str, object]:
    """The content of `NAME.json`."""
    named = list(named_places(bundle))
    settings = asdict(bundle.settings)
    return {
        "format": FORMAT,
        "compiler": f"glow {__version__}",
        "name": settings.pop("name"),
        "target": _target(bundle),
        **settings,
        "alignment": bundle.alignment,
        "constants_bytes": bundle.constants.nbytes,
        "mutables_bytes": bundle.mutables_bytes,
        "activations_bytes": bundle.activations_bytes,
        "stack_bytes": bundle.stack_bytes,
        "checksums": {
            "constants_crc32": bundle.checksum,
            "constants_sha256": hashlib.sha256(bundle.constants.data).hexdigest(),
            "object_sha256": hashlib.sha256(bundle.object_code).hexdigest(),
        },
        "kernel_bytes": dict(bundle.kernel_bytes),
        "entries": [_entry(bundle, each, named) for each in bundle.functions],
    }


def _target(bundle: Bundle) -> Mapping[str, str]:
    target = bundle.target
    return {
        "name": bundle.target_name,
        "triple": target.triple,
        "cpu": target.cpu,
        "features": target.features,
        "abi": target.abi,
    }


def _entry(
    bundle: Bundle, function: BundleFunction, named: list[NamedPlace]
) -> Mapping[str, object]:
    start = function.reports_offset
    return {
        "name": function.name,
        "symbol": bundle.entry(function),
        "mutables_bytes": function.mutables_bytes,
        "activations_bytes": function.activations_bytes,
        "inputs": _places(bundle, function, "input", named),
        "outputs": _places(bundle, function, "output", named),
        "variables": _places(bundle, function, "variable", named),
        "errors": [
            {"offset": start + number, "node": node, "error": error}
            for number, (node, error) in enumerate(function.reports)
        ],
    }


def _places(
    bundle: Bundle, function: BundleFunction, kind: str, named: list[NamedPlace]
) -> list[Mapping[str, object]]:
    mine = [each for each in named if each.function is function and each.kind == kind]
    return [
        {"macro": each.part, **_place(bundle, function, each.place)} for each in mine
    ]


def _place(
    bundle: Bundle, function: BundleFunction, place: Place
) -> Mapping[str, object]:
    entry: dict[str, object] = {
        "name": place.name,
        "dtype": place.dtype.name,
        "shape": list(place.shape),
        "offset": place.offset,
        "bytes": place.nbytes,
    }
    quantization = bundle.quantization.get((function.name, place.name))
    if quantization is not None:
        entry["scale"] = quantization.scale
        entry["zero_point"] = quantization.zero_point
    return entry
