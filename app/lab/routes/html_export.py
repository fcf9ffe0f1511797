"""A run as one HTML file that needs no server: the stage's own page, with everything it loads written into it.

Modules become ``data:`` addresses of an import map. A module in such an address cannot name its neighbours relative to
itself, so every import is rewritten to the path from the site's root, without the leading slash; these names are the
keys of the map.
"""

from __future__ import annotations

import base64
import json
import posixpath
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from flask import g, render_template

from app.foundation.version import version
from app.web.page_modules import page_modules

if TYPE_CHECKING:
    from app.picture.session.film import Film, RecordedFilm

#: Matches ``from "./x.js"``, ``import "./x.js"`` and ``import("./x.js")``.
_IMPORT = re.compile(r"""(\bfrom\s*|\bimport\s*\(?\s*)(["'])([^"'\n]+)\2""")
_STYLESHEET = re.compile(r"""<link rel="stylesheet" href="/(static/[^"]+)">""")
_PLAIN_SCRIPT = re.compile(r"""<script src="/(static/[^"]+)"></script>""")
_MODULE = re.compile(r"""<script type="module" src="/(static/[^"]+)"></script>""")
_IMPORT_MAP = re.compile(r"""<script type="importmap"[^>]*>(.*?)</script>""", re.DOTALL)
_ICON = re.compile(r"""<link rel="icon"[^>]*>""")
_SVG_USE = re.compile(r"""<svg[^>]*><use href="/static/[^"]*"></use></svg>""")


def recording_page(film: Film | RecordedFilm, static_folder: Path) -> str:
    """Return the stage's page with ``film`` inside, in the language of the current request. Raises OSError."""
    g.stands_alone = True
    return self_contained(film_page(film), static_folder, page_modules().text)


def film_page(film: Film | RecordedFilm) -> str:
    """Return the stage's page with ``film`` inside, as the server sends it."""
    recording = {**film, "exported": datetime.now(tz=UTC).date().isoformat(), "version": version()}
    return render_template("lab.html", lab_data={"recording": recording})


def self_contained(page: str, static_folder: Path, module_text: Callable[[str], str]) -> str:
    """Return ``page`` (as the server renders it) with its styles and scripts inside.

    ``module_text`` returns the content of a file below ``/modules``.

    Raises OSError for a missing file.
    """
    bundle = _Bundle(static_folder, module_text)
    page = _ICON.sub("", page)
    page = _SVG_USE.sub("", page)
    page = _STYLESHEET.sub(lambda found: f"<style>\n{bundle.text(found[1])}\n</style>", page)
    page = _PLAIN_SCRIPT.sub(lambda found: f"<script>\n{_script_text(bundle.text(found[1]))}\n</script>", page)
    packages = _packages(page)
    entries = _MODULE.findall(page)
    imports = bundle.modules(entries, packages)
    import_map = json.dumps({"imports": imports}, indent=0)
    page = _IMPORT_MAP.sub(lambda _: f'<script type="importmap">{import_map}</script>', page)
    return _MODULE.sub(lambda found: f'<script type="module">import "{found[1]}";</script>', page)


def _packages(page: str) -> dict[str, str]:
    """Return package name -> path below the site's root, from the page's import map."""
    found = _IMPORT_MAP.search(page)
    known = json.loads(found[1])["imports"] if found is not None else {}
    return {name: path.removeprefix("/") for name, path in known.items()}


def _script_text(text: str) -> str:
    """Return ``text`` escaped so that it cannot end the script element that contains it."""
    return text.replace("</script", "<\\/script")


class _Bundle:
    """The files below ``/static`` and ``/modules`` that a page needs."""

    def __init__(self, static_folder: Path, module_text: Callable[[str], str]) -> None:
        self._folder = static_folder.resolve()
        self._module_text = module_text

    def text(self, path: str) -> str:
        """Return the text of the file at ``static/...`` or ``modules/...``."""
        if path.startswith("modules/"):
            return self._module_text(path.removeprefix("modules/"))
        file = (self._folder / path.removeprefix("static/")).resolve()
        if not file.is_relative_to(self._folder):
            raise FileNotFoundError(path)
        return file.read_text(encoding="utf-8")

    def modules(self, entries: list[str], packages: dict[str, str]) -> dict[str, str]:
        """Return all modules that ``entries`` need: the name that imports use -> ``data:`` address."""
        waiting = [*entries]
        sources: dict[str, str] = {}
        while waiting:
            path = waiting.pop()
            if path in sources:
                continue
            sources[path] = _IMPORT.sub(partial(_renamed, path, packages), self.text(path))
            waiting.extend(_imported_paths(sources[path]))
        return {
            path: "data:text/javascript;base64," + base64.b64encode(source.encode()).decode()
            for path, source in sources.items()
        }


def _renamed(importer: str, packages: dict[str, str], found: re.Match[str]) -> str:
    """Return one import with the path of what it imports. Text that only looks like an import stays."""
    name = found[3]
    if name.startswith(("./", "../")):
        name = posixpath.normpath(posixpath.join(posixpath.dirname(importer), name))
    elif name.startswith("/static/"):
        name = name.removeprefix("/")
    else:
        name = packages.get(name, name)
    return f"{found[1]}{found[2]}{name}{found[2]}"


def _imported_paths(source: str) -> Iterator[str]:
    for found in _IMPORT.finditer(source):
        if found[3].startswith(("static/", "modules/")):
            yield found[3]
