from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, Literal, Protocol, TypeAlias, final, overload

__all__ = ["FoldsymError", "RecordBatch", "Store", "SymbolFile", "Symbolizer", "convert", "read_report", "symbolize_batch"]

__version__: str

_Path: TypeAlias = str | PathLike[str]
# A method has the name of the type.
_List: TypeAlias = list
_Source: TypeAlias = _Path | bytes

class _ArrowArray(Protocol):
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...

class _ArrowStream(Protocol):
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

class FoldsymError(Exception): ...

@final
class SymbolFile:
    def __new__(cls, source: _Source) -> SymbolFile: ...
    def lookup(self, address: int, *, bias: int = 0) -> dict[str, Any]: ...
    def stack(
        self, addresses: Sequence[int | None], kinds: Sequence[str] | None = None, *, bias: int = 0
    ) -> list[dict[str, Any]]: ...
    def find(self, name: str) -> list[str]: ...
    def info(self) -> dict[str, Any]: ...

@final
class Store:
    def __new__(cls, location: _Path, *, create: bool = False) -> Store: ...
    def get(self, id: str) -> SymbolFile | None: ...
    def add(self, path: _Path) -> str: ...
    def convert(
        self,
        program: _Path,
        *,
        columns: bool = False,
        locations: bool = False,
        unwind: bool = False,
        imports: bool = False,
        name_index: bool = False,
        threads: int = 0,
    ) -> str: ...
    def list(self) -> _List[dict[str, Any]]: ...
    def check(self) -> dict[str, Any]: ...
    def gc(
        self,
        *,
        max_age_days: float | None = None,
        older_than_days: float | None = None,
        keep_releases: int | None = None,
        max_bytes: int | None = None,
        dry_run: bool = False,
    ) -> dict[str, Any]: ...
    def remove(self, id: str) -> bool: ...
    def pin(self, name: str, ids: Sequence[str]) -> None: ...
    def pins(self) -> dict[str, _List[str]]: ...
    def unpin(self, name: str, ids: Sequence[str] = ...) -> bool: ...

@final
class Symbolizer:
    def __new__(
        cls,
        stores: Sequence[Store] = ...,
        search: Sequence[_Path] = ...,
        *,
        candidates: bool = True,
        demangle: bool = True,
    ) -> Symbolizer: ...
    @overload
    def stack(
        self, frames: Sequence[int | str | dict[str, Any]], modules: Sequence[dict[str, Any]], *, signature: Literal[False] = False
    ) -> list[dict[str, Any]]: ...
    @overload
    def stack(
        self,
        frames: Sequence[int | str | dict[str, Any]],
        modules: Sequence[dict[str, Any]],
        *,
        signature: Literal[True],
        signature_rules: _Source | None = None,
    ) -> dict[str, Any]: ...
    def opened(self) -> dict[str, int]: ...

def read_report(
    source: _Source,
    store: Symbolizer | Store | _Path | None = None,
    *,
    format: str | None = None,
    event: str | None = None,
    fields: Sequence[str] | None = None,
    signature: bool = False,
    signature_rules: _Source | None = None,
) -> dict[str, Any]: ...
def convert(
    source: _Source,
    output: _Path,
    *,
    columns: bool = False,
    locations: bool = False,
    unwind: bool = False,
    imports: bool = False,
    name_index: bool = False,
    demangled: bool = False,
    threads: int = 0,
    arch: str | None = None,
    target: str | None = None,
    dwp: _Path | None = None,
    dwo_dirs: Sequence[_Path] = ...,
    debug_dirs: Sequence[_Path] = ...,
    debug_file: _Path | None = None,
    map_prefix: dict[str, str] | None = None,
    remap_path: dict[str, str] | None = None,
    progress: Callable[[str, int, int], object] | None = None,
) -> dict[str, Any]: ...
@final
class RecordBatch:
    @property
    def num_rows(self) -> int: ...
    @property
    def column_names(self) -> list[str]: ...
    def __len__(self) -> int: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

def symbolize_batch(
    stacks: _ArrowArray | _ArrowStream,
    store: Symbolizer | Store | _Path,
    *,
    dictionaries: bool = True,
    threads: int = 1,
    fields: Sequence[str] | None = None,
    views: bool = False,
    signature: bool = False,
    signature_rules: _Source | None = None,
) -> RecordBatch: ...
