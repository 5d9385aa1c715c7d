"""The choice of numerics: names, and that `exact` keeps to direct sums."""

import pytest

from glow.dialects.errors import GlowError
from glow.dialects.numerics import NUMERICS, check_numerics


@pytest.mark.parametrize("name", NUMERICS)
def test_names(name: str) -> None:
    assert check_numerics(name) == name


def test_other_names_are_refused() -> None:
    with pytest.raises(GlowError, match="unknown numerics 'wrong'"):
        check_numerics("wrong")
