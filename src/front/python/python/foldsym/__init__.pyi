from os import PathLike
from typing import Any

Source = str | PathLike[str] | bytes

class FoldsymError(Exception): ...

class SymbolFile:
    def __init__(self, source: Source) -> None: ...
    def lookup(self, address: int, *, bias: int = 0) -> dict[str, Any]: ...
    def stack(
        self, addresses: list[int | None], kinds: list[str] | None = None, *, bias: int = 0
    ) -> list[dict[str, Any]]: ...
    def find(self, name: str) -> list[str]: ...
    def info(self) -> dict[str, Any]: ...

class Store:
    def __init__(self, location: str | PathLike[str], *, create: bool = False) -> None: ...
    def get(self, id: str) -> SymbolFile | None: ...
    def add(self, path: str | PathLike[str]) -> str: ...

class Symbolizer:
    def __init__(
        self,
        stores: list[Store] = [],
        search: list[str | PathLike[str]] = [],
        *,
        candidates: bool = True,
        demangle: bool = True,
    ) -> None: ...
    def stack(
        self, frames: list[int | str | dict[str, Any]], modules: list[dict[str, Any]]
    ) -> list[dict[str, Any]]: ...

def convert(
    source: Source,
    output: str | PathLike[str],
    *,
    columns: bool = False,
    name_index: bool = False,
    threads: int = 0,
) -> dict[str, Any]: ...
