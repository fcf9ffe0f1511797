"""Data that pages import as JavaScript modules: texts, tables, the words of a search.

A page would carry them again and again; as modules of their own, whose addresses change with their content, browsers
keep them. Scripts import those that most pages need by a name of the import map: ``import texts from "glassmq/texts"``.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import cast

from flask import Flask, Response, abort, current_app

from app.foundation.json_text import dump_json

#: How long browsers may keep a file whose address changes with its content.
KEPT = "public, max-age=31536000, immutable"
#: The folder of the modules' addresses.
FOLDER = "modules"
_EXTENSION = "glassmq_page_modules"
_FILE = re.compile(r"(?P<name>[a-z-]+)\.(?P<digest>[0-9a-f]{12})\.js")


class PageModules:
    """The modules of an application, by name. A value may change, as the files do from which it is read."""

    def __init__(self, app: Flask) -> None:
        """Make the modules, and the route by which ``app`` sends them."""
        self._sources: dict[str, Callable[[], bytes]] = {}
        self._imported: list[tuple[str, str | None, str]] = []
        app.extensions[_EXTENSION] = self

        @app.get(f"/{FOLDER}/<file>")
        def page_module(file: str) -> Response:
            name = self._name(file)
            if name is None:
                abort(404)
            source = self.source(name)
            # An older page gets the newest content: better than none, but not to be kept.
            kept = KEPT if _file(name, source) == file else "no-cache"
            return Response(source, mimetype="text/javascript", headers={"Cache-Control": kept})

    def add(self, name: str, value: Callable[[], object]) -> None:
        """Add the module ``name``, whose default export is the JSON of what ``value`` returns."""
        self._sources[name] = lambda: _javascript(value())

    def add_import(self, name: str, value: Callable[[], object], language: str | None = None) -> None:
        """Add a module that all pages (None) or those in ``language`` can import as ``glassmq/NAME``.

        Every page names it, so its value is asked for once: it must never change.
        """
        file = name if language is None else f"{name}-{language}"
        self._sources[file] = cache(lambda: _javascript(value()))
        self._imported.append((name, language, file))

    def _name(self, file: str) -> str | None:
        found = _FILE.fullmatch(file)
        return found["name"] if found is not None and found["name"] in self._sources else None

    def text(self, file: str) -> str:
        """Return the content of a module's file. Raises FileNotFoundError."""
        name = self._name(file)
        if name is None:
            raise FileNotFoundError(file)
        return self.source(name).decode()

    def source(self, name: str) -> bytes:
        """Return the JavaScript of a module."""
        return self._sources[name]()

    def file(self, name: str) -> str:
        """Return the name of a module's file, such as ``texts-en.0123456789ab.js``."""
        return _file(name, self.source(name))

    def address(self, name: str) -> str:
        """Return the address of a module as it is now."""
        return f"/{FOLDER}/{self.file(name)}"

    def imports(self, language: str) -> dict[str, str]:
        """Return the import map of these modules for a page in ``language``: name -> address."""
        return {
            f"glassmq/{name}": self.address(file) for name, only, file in self._imported if only in (None, language)
        }

    def files(self) -> Mapping[str, bytes]:
        """Return the name of every module's file, with its content."""
        sources = {name: self.source(name) for name in self._sources}
        return {_file(name, source): source for name, source in sources.items()}


def _javascript(value: object) -> bytes:
    return b"export default " + dump_json(value) + b";\n"


def _file(name: str, source: bytes) -> str:
    return f"{name}.{hashlib.sha256(source).hexdigest()[:12]}.js"


def page_modules(app: Flask | None = None) -> PageModules:
    """Return the modules of ``app``, or of the application that answers the current request."""
    return cast("PageModules", (app or current_app).extensions[_EXTENSION])
