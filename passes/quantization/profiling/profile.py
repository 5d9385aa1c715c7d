"""Profiles: what was seen of each value of a network, batch by batch."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from glow.dialects.errors import GlowError
from glow.dialects.weight_table import Array
from glow.passes.quantization.profiling.profile_file import (
    load_profile,
    parse_profile,
    save_profile,
)
from glow.passes.quantization.profiling.value_profile import ProfileData, ValueProfile


@dataclass
class Profile(ProfileData):
    """What was seen of a network's values, taken from arrays or from a file."""

    def add(self, arrays: Mapping[str, Array]) -> None:
        """Take the values of another batch into account.

        Raises GlowError for NaN and infinity, naming value and batch.
        """
        for name, array in arrays.items():
            self.observe(name, array)
        self.batches += 1

    def observe(self, name: str, array: Array, *, ranges_only: bool = False) -> None:
        """Take one value of a batch that is not complete yet into account, or just its range."""
        if array.size == 0:
            return
        profile = self.values.get(name) or ValueProfile()
        try:
            profile.add(array, ranges_only=ranges_only)
        except FloatingPointError:
            kind = "NaN" if np.isnan(array).any() else "infinity"
            message = f"{kind} in value '{name}' in batch {self.batches}"
            raise GlowError(message) from None
        self.values[name] = profile

    def merge(self, other: Profile) -> None:
        """Take everything into account that another profile saw.

        Raises GlowError where one of them is none.
        """
        self.check()
        other.check()
        for name, value in other.values.items():
            self.values.setdefault(name, ValueProfile()).merge(value)
        self.batches += other.batches
        self.keep = tuple(dict.fromkeys((*self.keep, *other.keep)))

    def check(self) -> None:
        """Raise GlowError for a value whose parts do not belong together."""
        for name, value in self.values.items():
            value.check(name)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the profile to a YAML file."""
        save_profile(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Profile:
        """Read a profile from a YAML file."""
        return cls(**vars(load_profile(path)))

    @classmethod
    def parse(cls, text: str, source: str) -> Profile:
        """The profile that a text spells; errors name the source."""
        return cls(**vars(parse_profile(text, source)))

    def __getitem__(self, name: str) -> ValueProfile:
        if name not in self.values:
            raise GlowError(f"the profile has no value '{name}'")
        return self.values[name]
