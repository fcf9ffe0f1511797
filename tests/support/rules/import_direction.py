"""Which package of the engine may import which, and who breaks it.

Imports point one way, so that a reader can start at ``protocol`` and never needs what comes later.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

#: Package of engine/ -> the packages of engine/ that it may import, besides itself. ``None``: any of them.
ALLOWED_IMPORTS: dict[str, frozenset[str] | None] = {
    "texts": frozenset(),
    "compiled": frozenset(),
    "runtime": frozenset(),
    "protocol": frozenset(),
    "fields": frozenset({"protocol", "texts"}),
    "filter": frozenset({"protocol"}),
    "remoting": frozenset({"protocol", "runtime"}),
    "store": frozenset({"protocol", "runtime"}),
    "name_server": frozenset({"protocol", "runtime", "remoting", "store"}),  # for files with a backup
    "acl": frozenset({"fields", "protocol", "runtime", "texts"}),
    "replication": frozenset({"protocol", "runtime", "store"}),
    "broker": frozenset({"filter", "protocol", "runtime", "remoting", "store", "acl", "texts", "replication"}),
    "client": frozenset({"protocol", "runtime", "remoting", "acl"}),
    "bank": frozenset({"protocol", "runtime", "client"}),
    "xa": frozenset({"protocol", "runtime", "remoting", "bank"}),
    "idempotence": frozenset({"protocol", "client", "runtime"}),
    "kafka": frozenset({"runtime"}),
    "pipeline": frozenset({"protocol", "runtime", "acl", "client", "lab", "fields", "texts"}),
    "faults": frozenset({"fields", "protocol", "runtime", "texts"}),
    "lab": None,
    "testkit": frozenset(
        {"protocol", "runtime", "remoting", "store", "name_server", "broker", "faults", "fields", "live", "texts"}
    ),
    "live": frozenset({"protocol", "runtime", "remoting", "store", "name_server", "replication", "broker", "faults"}),
}

#: What assembles, shows and tests the engine. The engine knows none of it.
OUTSIDE_THE_ENGINE = frozenset({"app", "scripts", "tests"})


def imported_modules(tree: ast.Module, package: str) -> Iterator[tuple[int, str]]:
    """(line, full dotted name) of every import in ``tree``, late and type-checking ones too.

    ``package`` is the dotted package that holds the module; relative imports count from it.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = package.split(".")
                kept = parents[: len(parents) - node.level + 1]
                base = ".".join([*kept, base]).rstrip(".")
            # `from engine import store` imports engine.store; `from engine.store import X` names no package more.
            yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)


def wrong_imports(source: str, module: str) -> list[str]:
    """One line for each import of the engine module ``module`` (dotted name) that points the wrong way."""
    package = module.rpartition(".")[0]
    importer = module.split(".")[1]
    allowed = ALLOWED_IMPORTS.get(importer, frozenset())
    wrong = []
    for line, name in imported_modules(ast.parse(source), package):
        top, _, rest = name.partition(".")
        target = rest.partition(".")[0]
        if top in OUTSIDE_THE_ENGINE:
            wrong.append(f"{module}:{line} imports {name}: the engine knows nothing of {top}/")
        elif top == "engine" and allowed is not None and target != importer and target not in allowed:
            wrong.append(f"{module}:{line} imports {name}: engine.{importer} may not see engine.{target}")
    return wrong
