"""Static files below an address that changes with them: browsers keep these files and do not ask for them again.

A page has 150 scripts. Below ``/static`` a browser asks for each of them at every visit whether it has changed. The
import map of a page leads scripts from ``/static/`` to ``/assets/VERSION/``, so that they need not know of it.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

from flask import Flask, Response, send_from_directory

from app.web.page_modules import KEPT

#: Where the files of a version are.
FOLDER = "assets"
_BLOCK_COMMENT = re.compile(r"^[ \t]*/\*\*(?:(?!\*/).)*\*/[ \t]*$", re.MULTILINE | re.DOTALL)


class VersionedFiles:
    """The files of a folder, and the route by which an application sends them."""

    def __init__(self, app: Flask, folder: Path) -> None:
        self._folder = folder
        self._latest = files_version(folder)

        @app.get(f"/{FOLDER}/<version>/<path:name>")
        def asset(version: str, name: str) -> Response:
            response = send_from_directory(folder, name)
            if name.endswith(".js") and response.status_code == 200:
                response.direct_passthrough = False
                response.set_data(without_types(response.get_data(as_text=True)))
            # They would be a third of what a first visit loads, and nobody asks whether a version has changed.
            for header in ("Content-Disposition", "Last-Modified", "ETag", "Accept-Ranges"):
                response.headers.pop(header, None)
            # A page that was loaded before the files changed gets the new ones: better than none, but not to be kept.
            response.headers["Cache-Control"] = KEPT if version == self._latest else "no-cache"
            return response

    def address(self) -> str:
        """Return the folder's address as its files are now, without a slash at the end."""
        self._latest = files_version(self._folder)
        return f"/{FOLDER}/{self._latest}"


def without_types(module: str) -> str:
    """Return the module without its block comments, which are for readers and type checkers: they would be an eighth of
    what a first visit loads. Each line keeps its number.
    """
    return _BLOCK_COMMENT.sub(lambda comment: "\n" * comment[0].count("\n"), module)


def files_version(folder: Path) -> str:
    """Return a digest of the names, sizes and times of all files below ``folder``; it takes 5 ms for 500 files."""
    digest = hashlib.sha256()
    for path, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            found = os.stat(os.path.join(path, name))
            digest.update(f"{path}/{name} {found.st_size} {found.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:12]
