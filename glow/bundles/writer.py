"""Writes the files of a bundle into a folder: all of them, or nothing.

They are written into a new folder beside it first. That takes the place of a folder that is
not there or empty; in one with other files they are renamed into it, one by one.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from glow.backends.bundle_program import Bytes
from glow.bundles.bundle import Bundle
from glow.bundles.c_header import c_header
from glow.bundles.example.files import example_files
from glow.bundles.manifest import manifest_text
from glow.bundles.rust_module import rust_module
from glow.dialects.errors import GlowError
from glow.runtime.atomic_output import check_output_folder

BYTES_A_LINE = 20
"""Of weights as text, as Glow writes them."""


def bundle_files(bundle: Bundle) -> Mapping[str, bytes]:
    """The content of each file by name."""
    name = bundle.name
    texts = {
        f"{name}.h": c_header(bundle),
        f"{name}.rs": rust_module(bundle),
        f"{name}.json": manifest_text(bundle),
        **example_files(bundle),
    }
    files = {bundle.object_file: bundle.object_code}
    if bundle.settings.weights == "file":
        files[f"{name}.weights.bin"] = bundle.constants.tobytes()
        texts[f"{name}.weights.txt"] = weights_text(bundle.constants)
    if bundle.library is not None:
        files[f"{name}.so"] = bundle.library
    return {**files, **{name: text.encode() for name, text in texts.items()}}


def weights_text(constants: Bytes) -> str:
    """The bytes as Glow writes them, 20 on a line: `0X3F, 0X80, ...,`."""
    spelled = [f"0X{byte:02X}," for byte in range(256)]
    content = constants.tobytes()
    lines = (
        " ".join(map(spelled.__getitem__, content[start : start + BYTES_A_LINE]))
        for start in range(0, len(content), BYTES_A_LINE)
    )
    return "\n".join(lines) + "\n"


def check_bundle_folder(folder: Path, name: str) -> None:
    """Raise GlowError where the files of a bundle could not be written.

    A folder may hold an earlier bundle of that name and files of others, but no `Makefile` that
    somebody has written.
    """
    if folder.exists() and not folder.is_dir():
        raise GlowError(f"cannot write a bundle into {folder}: it is not a folder")
    check_output_folder(folder)
    if (folder / f"{name}.json").is_file():
        return
    for each in ("Makefile", "main.c", f"{name}.h", f"{name}.o", f"{name}.json"):
        if (folder / each).exists():
            raise GlowError(
                f"cannot write a bundle into {folder}: its {each} is not of a bundle "
                f"'{name}'",
                hint="name another folder",
            )


def write_files(files: Mapping[str, bytes], folder: Path) -> None:
    """Write files into a folder, which is made; a failure leaves nothing behind."""
    made = [each for each in (folder, *folder.parents) if not each.exists()]
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(
            prefix=f".{folder.name}.", dir=folder.parent, ignore_cleanup_errors=True
        ) as temporary:
            for name, content in files.items():
                (Path(temporary) / name).write_bytes(content)
            folder.mkdir(exist_ok=True)
            for name in files:
                (Path(temporary) / name).replace(folder / name)
    except OSError as error:
        for each in made:
            shutil.rmtree(each, ignore_errors=True)
        reason = (error.strerror or str(error)).lower()
        raise GlowError(f"cannot write a bundle into {folder}: {reason}") from error
