"""Functions, files and lines at the addresses of a program, with every function that the linker folded."""

from ._foldsym import (
    FoldsymError,
    RecordBatch,
    Store,
    SymbolFile,
    Symbolizer,
    __version__,
    convert,
    read_report,
    symbolize_batch,
)

__all__ = ["FoldsymError", "RecordBatch", "Store", "SymbolFile", "Symbolizer", "convert", "read_report", "symbolize_batch"]
