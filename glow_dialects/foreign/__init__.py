"""What the dialects of other projects have in common."""

from __future__ import annotations

from glow.dialects.foreign.operation import ForeignOp as ForeignOp
from glow.dialects.foreign.operation import integers_of as integers_of
