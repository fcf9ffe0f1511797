"""Writes the site without a server into a folder."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

from app.foundation.json_types import JsonObject
from app.foundation.page_folders import PageFolders
from app.foundation.version import version
from app.site.application import create_site_application
from app.site.pages import page_addresses, render_pages
from app.site.python_files import SiteProblem, check_runtime, write_python
from app.web.page_modules import page_modules

#: The file that shows that an earlier build made a folder.
MARK = "versions.json"


class NoPages:
    """The transport of an application that has no connected pages."""

    def send(self, viewer_ids: list[str], event: str, payload: JsonObject) -> None: ...

    def disconnect(self, viewer_id: str, reason: str) -> None: ...


def build_site(target: Path, pyodide: Path, tell: Callable[[str], None], addresses: list[str] | None = None) -> None:
    """Write the site into the folder ``target``; ``addresses``: these pages only.

    Raises :class:`SiteProblem`, ``OSError``.
    """
    check_runtime(pyodide)
    if target.exists() and any(target.iterdir()) and not (target / MARK).is_file():
        raise SiteProblem(f"{target} has files that are not a site's; choose an empty folder")
    folders = PageFolders.find()
    if not (folders.static / "vendor" / "import-map.json").is_file():
        raise SiteProblem("the page's packages are missing: run make install")
    tell("static files")
    shutil.copytree(folders.static, target / "static", ignore=shutil.ignore_patterns("types"), dirs_exist_ok=True)
    application = create_site_application(NoPages(), folders)
    film = application.app.test_client().get("/api/demonstration")
    _write(target / "demonstration.json", film.get_data(as_text=True))
    for name, module in page_modules(application.app).files().items():
        _write(target / "modules" / name, module.decode())
    tell("pages")
    for path, page in render_pages(application, addresses or page_addresses()):
        _write(target / path, page)
    application.close()
    tell("Python's modules")
    write_python(pyodide, target / "python")
    package = json.loads((pyodide / "package.json").read_text(encoding="utf-8"))
    _write(target / MARK, json.dumps({"glassmq": version(), "pyodide": package["version"]}) + "\n")


def _write(file: Path, content: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content, encoding="utf-8")
