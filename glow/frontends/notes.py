"""What an import has to say besides the program."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class ImportNotes:
    """Filled by an import, for a caller who does more than to warn at once."""

    warnings: list[str] = field(default_factory=list[str])
    files: dict[str, str] = field(default_factory=dict[str, str])
    """The hashes of the files of weights beside the model, by name, before they are
    read."""
