"""LLVM, with no more of it in memory than is at work. Import `llvm` from here."""

from __future__ import annotations

import llvmlite.binding as llvm

from glow.lowering.target.library_pages import LibraryPages

__all__ = ["PAGES", "llvm"]

PAGES = LibraryPages("libllvmlite")
"""LLVM's code and tables; released where no more code is to be generated."""

PAGES.release()
PAGES.divide()
