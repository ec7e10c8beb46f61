"""Functions, files and lines at the addresses of a program, with every function that the linker folded."""

from ._foldsym import FoldsymError, Store, SymbolFile, Symbolizer, convert

__all__ = ["FoldsymError", "Store", "SymbolFile", "Symbolizer", "convert"]
