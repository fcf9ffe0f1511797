"""Which modules a module can import, itself or through others, at its start or later in a function."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path


def reached_modules(root: str, files: Mapping[str, Path]) -> list[str]:
    """Return the paths of ``root`` and of what it reaches, sorted.

    ``files``: path, such as ``app/site/worker.py``, -> source file, of all modules that may be reached. What is
    imported for types only is not.
    """
    reached: set[str] = set()
    waiting = [root]
    while waiting:
        path = waiting.pop()
        if path in reached:
            continue
        reached.add(path)
        tree = ast.parse(files[path].read_bytes())
        waiting += [found for name in _imported(tree) for found in _files_of(name, files)]
    return sorted(reached)


def _imported(node: ast.AST) -> Iterator[str]:
    """Yield the full names that are imported below a node; some are those of a module's functions and classes."""
    match node:
        case ast.Import():
            yield from (each.name for each in node.names)
        case ast.ImportFrom(module=str(module)):
            yield from (f"{module}.{each.name}" for each in node.names)
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            yield from (name for each in node.orelse for name in _imported(each))
        case _:
            yield from (name for each in ast.iter_child_nodes(node) for name in _imported(each))


def _files_of(name: str, files: Mapping[str, Path]) -> Iterator[str]:
    """Yield the file of a module, and those of the packages around it, which are imported first."""
    parts = name.split(".")
    for count in range(1, len(parts) + 1):
        stem = "/".join(parts[:count])
        yield from (path for path in (f"{stem}.py", f"{stem}/__init__.py") if path in files)
