"""Which modules a module can import, itself or through others, at its start or later in a function."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping


def reached_modules(modules: Iterable[str], sources: Mapping[str, bytes], *, for_types: bool) -> set[str]:
    """Return the paths of ``modules`` and of what they reach.

    :param modules: names, such as ``app.site.worker``.
    :param sources: path, such as ``app/site/worker.py``, -> content, of all modules that may be reached.
    :param for_types: whether what is imported for types only is reached, too.
    """
    reached: set[str] = set()
    waiting = list(modules)
    while waiting:
        parts = waiting.pop().split(".")
        # The packages around a module are imported before it.
        for length in range(1, len(parts) + 1):
            name = "/".join(parts[:length])
            path = next((path for path in (f"{name}.py", f"{name}/__init__.py") if path in sources), None)
            if path is not None and path not in reached:
                reached.add(path)
                waiting += _imported(ast.parse(sources[path]), for_types)
    return reached


def _imported(node: ast.AST, for_types: bool) -> Iterator[str]:
    """Yield the modules that are imported below a node; a name that is imported from a package may be one, too."""
    match node:
        case ast.Import():
            yield from (each.name for each in node.names)
        case ast.ImportFrom(module=str(module)):
            yield from (f"{module}.{each.name}" for each in node.names)
        case ast.If(test=ast.Name(id="TYPE_CHECKING")) if not for_types:
            yield from (name for each in node.orelse for name in _imported(each, for_types))
        case _:
            yield from (name for each in ast.iter_child_nodes(node) for name in _imported(each, for_types))
