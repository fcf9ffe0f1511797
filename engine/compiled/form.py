"""The form in which the engine runs: interpreted from its source, or with its hot path compiled.

``make fast`` leaves extension modules in ``built/``, with a manifest that records the source they were made from.
:func:`choose_form` loads them in place of their source, before that is imported. Both forms behave the same; the
interpreted one can be read, stepped through and debugged.
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
#: A compiled module relies on the types in the modules that it imports: a change to any of these makes a build stale.
_SOURCE_FOLDERS = ("broker", "compiled", "protocol", "remoting", "runtime", "store")
#: The library with the code of all compiled modules; the modules themselves only point into it.
SHARED_LIBRARY = "glassmq_compiled__mypyc"


@dataclass(frozen=True)
class EngineForm:
    """The running form, and why it is not the other one.

    :ivar why: reason for running interpreted; empty for the compiled form.
    """

    is_compiled: bool
    why: str = ""

    @property
    def name(self) -> str:
        return "compiled" if self.is_compiled else "interpreted"


class _Process:
    form = EngineForm(False, "nobody asked for the compiled one")


class BuildUnusable(Exception):
    """There is no build, or it is not for this source, Python and machine; the message says which."""


class CompiledFinder:
    """A finder that locates the compiled modules of a build before Python finds their source."""

    def __init__(self, folder: Path, modules: Sequence[str]) -> None:
        suffix = extension_suffix()
        self._files = {name: folder / f"{name.replace('.', '/')}{suffix}" for name in (*modules, SHARED_LIBRARY)}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a compiled module; None for every other module."""
        file = self._files.get(fullname)
        if file is None:
            return None
        return spec_from_file_location(fullname, file, loader=ExtensionFileLoader(fullname, str(file)))


def choose_form(*, wants_compiled: bool, folder: Path = BUILT) -> EngineForm:
    """Choose the form for this process; modules that are already imported stay. Without a usable build it is
    interpreted.
    """
    if not _Process.form.is_compiled:
        _Process.form = _prepared(folder) if wants_compiled else EngineForm(False, "asked for")
    return _Process.form


def _prepared(folder: Path) -> EngineForm:
    try:
        modules = usable_modules(folder)
    except BuildUnusable as reason:
        return EngineForm(False, str(reason))
    early = next((name for name in modules if name in sys.modules), None)
    if early is not None:  # classes of the two forms would not recognise each other
        return EngineForm(False, f"{early} was imported before")
    sys.meta_path.insert(0, CompiledFinder(folder, modules))
    return EngineForm(True)


def running_form() -> EngineForm:
    """Return the chosen form; interpreted if none was chosen."""
    return _Process.form


def usable_modules(folder: Path = BUILT) -> list[str]:
    """Return the names of the modules in the build. Raises :class:`BuildUnusable`."""
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
    """Write the manifest that :func:`usable_modules` reads, as the last file of a build."""
    manifest = {"suffix": extension_suffix(), "modules": list(modules), "sources": sources}
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=1))


def source_digests() -> dict[str, str]:
    """Return the content hash of every file (``engine/...``) that a compiled module may depend on.

    The hash is the one by which Python recognises the source of its bytecode. Sizes and modification times would be
    faster to read, but say nothing in a fresh checkout and are not reliable elsewhere.
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
    """Return the suffix of extension modules for this Python and machine: ``.cpython-311-x86_64-linux-gnu.so``."""
    return EXTENSION_SUFFIXES[0]
