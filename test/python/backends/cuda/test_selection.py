"""Which instructions of networks have kernels for many threads."""

from __future__ import annotations

import pytest
from xdsl.ir import Operation

from glow.backends.cuda.selection import THEME_OF, key_of
from glow.dialects.instr import find_instruction


@pytest.mark.parametrize("key", THEME_OF, ids=lambda key: key.name)
def test_a_row_is_found_by_the_instruction(key: type[Operation]) -> None:
    """A row under another key would never be asked."""
    instruction = find_instruction(key) or key
    assert key_of(instruction) is key
