"""The order of the rooms inside a folder, circles between modules, and how many files a folder holds."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from tests.support.rules.import_direction import imported_modules

#: Folder -> its rooms: each imports from itself and from those before it only. ".": the files next to the rooms.
ROOMS: Mapping[str, tuple[str, ...]] = {
    "app": (
        "foundation",
        "databases",
        "picture",
        "observation",
        "watch",
        "metrics",
        "remote",
        "web",
        "pictures",
        "pipeline",
        "storage",
        "live",
        "glossary",
        "lab",
        "lessons",
        "articles",
        "testkit",
        ".",
        "site",
        "commands",
    ),
    "app.commands": (".", "messages", "administration", "idempotence", "storage", "lab"),
    "app.lab": (".", "foundation", "views", "recorded", "session", "routes"),
    "app.picture": (".", "world", "live", "session", "pages"),
    "engine.broker": ("foundation", "tables", "filters", "delivery", "transactions", "processors", "."),
    "engine.client": (
        "foundation",
        "allocation",
        "callbacks",
        "trace",
        "instance",
        "producer",
        "queues",
        "consumer",
        ".",
    ),
    "engine.idempotence": ("foundation", "stores", "strategies", "loss_detection", "."),
    "engine.kafka": ("records", "log", "wire", "client", "replication", "broker", "."),
    "engine.lab": (
        ".",
        "work",
        "scenario",
        "nodes",
        "kafka",
        "raft",
        "witness",
        "world",
        "checkers",
        "run",
        "narration",
        "why",
        "explorer",
        "sweep",
    ),
    "engine.lab.checkers": ("watch", "messages", "queues", "transactions", "work", "kafka", "raft", "replication", "."),
    "engine.pipeline.source": ("cluster", "decoding", "reader", "writer", "."),
    "engine.protocol": (".", "json_form", "message", "command", "body"),
    "engine.replication": (".", "raft", "ha", "majority"),
    "engine.runtime": (".", "lab", "live"),
    "engine.store": ("files", "queues", "log", "services", "reading", "recovery", "."),
}
FOLDER_FILES_MAX = 20


def modules_below(project: Path, *tops: str) -> dict[str, Path]:
    """Dotted name -> file of every module; a package has the name of its folder."""
    paths = [path for top in tops for path in (project / top).rglob("*.py")]
    return {
        path.relative_to(project).with_suffix("").as_posix().replace("/", ".").removesuffix(".__init__"): path
        for path in paths
    }


def imports_of(module: str, path: Path, modules: Mapping[str, Path]) -> Iterator[str]:
    """The ``modules`` that one of them imports: late imports and those for type checkers count."""
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for _, name in imported_modules(ast.parse(path.read_text(encoding="utf-8")), package):
        while name and name not in modules:
            name = name.rpartition(".")[0]
        if name and name != module:
            yield name


def import_circle(imports: Mapping[str, Iterable[str]]) -> list[str]:
    """One circle of modules that import each other, or nothing."""
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        circle: list[str] = error.args[1]
        return circle
    return []


def _room(module: str, folder: str, modules: Mapping[str, Path]) -> str:
    first = module.removeprefix(folder).lstrip(".").partition(".")[0]
    path = modules[module]
    is_beside = module == folder or (path.name != "__init__.py" and module.rpartition(".")[0] == folder)
    return "." if is_beside else first


def upward_imports(imports: Mapping[str, Iterable[str]], modules: Mapping[str, Path]) -> list[str]:
    """One line for each import from a room that comes later in :data:`ROOMS`, or from one that has no place there."""
    wrong = []
    for folder, rooms in ROOMS.items():
        inside = [module for module in imports if module == folder or module.startswith(f"{folder}.")]
        for module in inside:
            room = _room(module, folder, modules)
            if room not in rooms:
                wrong.append(f"{module}: decide in ROOMS which place {folder}.{room} has")
                continue
            for other in imports[module]:
                if other == folder or other.startswith(f"{folder}."):
                    there = _room(other, folder, modules)
                    if there in rooms and rooms.index(there) > rooms.index(room):
                        wrong.append(f"{module} imports {other}: {folder}'s room {room} comes before {there}")
    return wrong


def crowded_folders(files: Iterable[Path]) -> dict[str, int]:
    """Folder -> its files, where there are more than :data:`FOLDER_FILES_MAX`."""
    counts: dict[str, int] = {}
    for path in files:
        folder = path.parent.as_posix()
        counts[folder] = counts.get(folder, 0) + 1
    return {folder: count for folder, count in sorted(counts.items()) if count > FOLDER_FILES_MAX}
