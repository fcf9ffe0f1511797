"""Which folders of static may import from each other, and what reads the live page's state."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

#: What pages share. Each folder imports from itself and from those before it; a page's folder from itself and from all.
SHARED = ("vendor", "common", "parts")
_IMPORT = re.compile(r"""\b(?:from|import)\s*\(?\s*["'](\.{1,2}/[^"']+)["']""")


def foreign_imports(static: Path) -> Iterator[str]:
    """One line for each import from another page's folder, or in what pages share from one that comes later."""
    for path in sorted(static.rglob("*.js")):
        folder = path.relative_to(static).parts[0]
        if folder == "vendor":
            continue
        allowed = {*SHARED[: SHARED.index(folder)], folder} if folder in SHARED else {*SHARED, folder}
        for address in _IMPORT.findall(path.read_text(encoding="utf-8")):
            target = (path.parent / address).resolve().relative_to(static.resolve()).parts[0]
            if target not in allowed:
                yield f"{path.relative_to(static)} imports {address}: static/{folder} may import from {sorted(allowed)}"


#: The state of the live page. A component of several pages takes its parts, a clock and a source instead.
LIVE_STATE = Path("common/cluster")


def readers_of_live_state(static: Path) -> Iterator[str]:
    """One line for each import of the live page's state by a component that several pages draw."""
    for path in sorted((static / "parts").rglob("*.js")):
        for address in _IMPORT.findall(path.read_text(encoding="utf-8")):
            if (path.parent / address).resolve().is_relative_to((static / LIVE_STATE).resolve()):
                yield f"{path.relative_to(static)} imports {address}"


#: The state of the lab's page.
LAB_STATE = "common/world/view.js"


def ways_to_the_lab(static: Path) -> Iterator[str]:
    """One line for each module that the live page loads and that imports the state of the lab's page."""
    root = static.resolve()
    found = dict.fromkeys(sorted((root / "live").rglob("*.js")))
    for path in (waiting := [*found]):
        for address in _IMPORT.findall(path.read_text(encoding="utf-8")):
            target = (path.parent / address).resolve()
            if target == root / LAB_STATE:
                yield f"{path.relative_to(root)} imports {address}"
            elif target not in found and target.is_file():
                found[target] = None
                waiting.append(target)
