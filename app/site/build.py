"""Writes the site without a server into a folder."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from app.foundation.page_folders import PageFolders
from app.foundation.version import version
from app.site.application import create_site_application
from app.site.licences import third_parties
from app.site.pages import SERVICE_WORKER, page_addresses, render_pages
from app.site.python_files import SiteProblem, check_runtime, write_python
from app.web.page_modules import page_modules

#: The file that shows that an earlier build made a folder.
MARK = "versions.json"
#: The files of the site with their digests, for the copy that browsers keep.
MANIFEST = "files.json"
#: Answers that never change and need no Python, as in static/site/transport.js.
ANSWERS = {"demonstration.json": "/api/demonstration", "storage_scenarios.json": "/api/storage/scenarios"}
#: Loaded one by one when a page shows them, and in no copy.
_NOT_COPIED = ("python/sources/", MANIFEST)


class NoPages:
    """The transport of an application that has no connected pages."""

    def send(self, viewer_ids: list[str], event: str, payload: Mapping[str, object]) -> None: ...

    def disconnect(self, viewer_id: str, reason: str) -> None: ...


def build_site(target: Path, pyodide: Path, tell: Callable[[str], None], addresses: list[str] | None = None) -> None:
    """Write the site into the folder ``target``; ``addresses``: these pages only.

    Files of an earlier build that this one does not write are removed; what others put there stays. Raises
    :class:`SiteProblem`, ``OSError``.
    """
    check_runtime(pyodide)
    if target.exists() and any(target.iterdir()) and not (target / MARK).is_file():
        raise SiteProblem(f"{target} has files that are not a site's; choose an empty folder")
    folders = PageFolders.find()
    if not (folders.static / "vendor" / "import-map.json").is_file():
        raise SiteProblem("the page's packages are missing: run make install")
    target.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as folder:
        fresh = Path(folder)
        _write_all(fresh, folders, pyodide, tell, addresses)
        replace_files(target, fresh)


def _write_all(
    target: Path, folders: PageFolders, pyodide: Path, tell: Callable[[str], None], addresses: list[str] | None
) -> None:
    tell("static files")
    shutil.copytree(folders.static, target / "static", ignore=shutil.ignore_patterns("types"))
    application = create_site_application(NoPages(), folders, third_parties=third_parties(folders.static, pyodide))
    for name, address in ANSWERS.items():
        _write(target / name, application.app.test_client().get(address).get_data(as_text=True))
    for name, module in page_modules(application.app).files().items():
        _write(target / "modules" / name, module.decode())
    tell("pages")
    for path, page in render_pages(application, addresses or page_addresses()):
        _write(target / path, page)
    application.close()
    tell("Python's modules")
    pyodide_version, python_bytes = write_python(pyodide, target / "python")
    versions = {"glassmq": version(), "pyodide": pyodide_version, "python_bytes": python_bytes}
    _write(target / MARK, json.dumps(versions) + "\n")
    files = digests(target)
    _write(target / MANIFEST, json.dumps({"files": files}))
    version_of_files = hashlib.sha256(json.dumps(files).encode()).hexdigest()[:16]
    script = (folders.static / "site" / SERVICE_WORKER).read_text(encoding="utf-8")
    _write(target / SERVICE_WORKER, f'const VERSION = "{version_of_files}";\n{script}')


def digests(folder: Path) -> dict[str, str]:
    """Return the path of each file that browsers copy, with a digest of its content."""
    paths = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return {
        path: hashlib.sha256((folder / path).read_bytes()).hexdigest()[:16]
        for path in paths
        if not path.startswith(_NOT_COPIED)
    }


def replace_files(target: Path, fresh: Path) -> None:
    """Move the files of ``fresh`` to ``target``, and remove those of the build before that are not among them."""
    paths = [path.relative_to(fresh) for path in fresh.rglob("*") if path.is_file()]
    if (target / MANIFEST).is_file():
        before = json.loads((target / MANIFEST).read_text(encoding="utf-8"))["files"]
        for path in set(map(Path, before)) - set(paths):
            (target / path).unlink(missing_ok=True)
    shutil.rmtree(target / "python" / "sources", ignore_errors=True)
    for path in paths:
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        (fresh / path).replace(target / path)


def _write(file: Path, content: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content, encoding="utf-8")
