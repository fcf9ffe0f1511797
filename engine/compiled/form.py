"""Which form of the engine runs: its source, interpreted, or the same source with its hot path compiled.

``make fast`` leaves extension modules in ``built/``, and a manifest that says of which
source they were made. :func:`choose_form` puts them in the place of their source, before that is imported. Both forms
do the same; the interpreted one is what can be read, stepped and debugged.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, ModuleSpec
from importlib.util import source_hash, spec_from_file_location
from pathlib import Path
from types import ModuleType

BUILT = Path(__file__).parent / "built"
MANIFEST = "manifest.json"
_ENGINE = Path(__file__).parent.parent
#: A compiled module relies on the types in those that it imports: a change to any of these makes a build stale.
_SOURCE_FOLDERS = ("broker", "compiled", "protocol", "remoting", "runtime", "store")
#: The library that holds the code of all of them; the modules themselves only point into it.
SHARED_LIBRARY = "glassmq_compiled__mypyc"


@dataclass(frozen=True)
class EngineForm:
    """What runs, and why it is not the other form.

    :ivar why: empty for the compiled form.
    """

    is_compiled: bool
    why: str = ""

    @property
    def name(self) -> str:
        return "compiled" if self.is_compiled else "interpreted"


class _Process:
    form = EngineForm(False, "nobody asked for the compiled one")


class BuildUnusable(Exception):
    """There is no build, or it is not of this source, Python and machine; the message says which."""


class CompiledFinder:
    """Finds the compiled modules of a build before Python finds their source."""

    def __init__(self, folder: Path, modules: Sequence[str]) -> None:
        suffix = extension_suffix()
        self._files = {name: folder / f"{name.replace('.', '/')}{suffix}" for name in (*modules, SHARED_LIBRARY)}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """As Python asks; None for all that was not compiled."""
        file = self._files.get(fullname)
        if file is None:
            return None
        return spec_from_file_location(fullname, file, loader=ExtensionFileLoader(fullname, str(file)))


def choose_form(*, wants_compiled: bool, folder: Path = BUILT) -> EngineForm:
    """Decide for this process; what it has imported already stays. Without a usable build: interpreted."""
    if not _Process.form.is_compiled:
        _Process.form = _prepared(folder) if wants_compiled else EngineForm(False, "asked for")
    return _Process.form


def _prepared(folder: Path) -> EngineForm:
    try:
        modules = usable_modules(folder)
    except BuildUnusable as reason:
        return EngineForm(False, str(reason))
    early = next((name for name in modules if name in sys.modules), None)
    if early is not None:  # half of each form would not know the other half's classes
        return EngineForm(False, f"{early} was imported before")
    sys.meta_path.insert(0, CompiledFinder(folder, modules))
    return EngineForm(True)


def running_form() -> EngineForm:
    """The form that was chosen; interpreted when nobody chose."""
    return _Process.form


def usable_modules(folder: Path = BUILT) -> list[str]:
    """The modules in the build. Raises :class:`BuildUnusable`."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text())
    except FileNotFoundError:
        raise BuildUnusable("nothing was compiled (make fast)") from None
    if manifest["suffix"] != extension_suffix():
        raise BuildUnusable(f"compiled for another Python ({manifest['suffix']}): make fast")
    changed = sorted(dict(manifest["sources"].items() ^ source_digests().items()))
    if changed:
        more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        raise BuildUnusable(f"{changed[0]}{more} changed since it was compiled: make fast")
    return list(manifest["modules"])


def write_manifest(folder: Path, modules: Sequence[str], sources: dict[str, str]) -> None:
    """What :func:`usable_modules` reads; the last file of a build."""
    manifest = {"suffix": extension_suffix(), "modules": list(modules), "sources": sources}
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=1))


def source_digests() -> dict[str, str]:
    """File, ``engine/...``, -> the hash of its content, for all that a compiled module may rely on.

    The hash is the one by which Python knows the source of its bytecode. Sizes and times of change would be quicker
    to ask for, but say nothing in a fresh checkout, and not everything elsewhere.
    """
    digests = {}
    for name in _SOURCE_FOLDERS:
        for folder, _, files in os.walk(_ENGINE / name):
            place = f"engine{folder.removeprefix(str(_ENGINE))}".replace(os.sep, "/")
            for file in files:
                if file.endswith(".py"):
                    with open(f"{folder}/{file}", "rb") as source:
                        digests[f"{place}/{file}"] = source_hash(source.read()).hex()
    return digests


def extension_suffix() -> str:
    """How the names of extension modules end for this Python and machine: ``.cpython-311-x86_64-linux-gnu.so``."""
    return EXTENSION_SUFFIXES[0]
