"""The site in a folder of a host of plain files, with a few of its pages."""

from __future__ import annotations

import functools
import http.server
import os
import threading
from contextlib import contextmanager

import pytest

from app.site.build import build_site
from tests.e2e.site.site_page import LESSONS, apart
from tests.support.pythons.other_pythons import PYODIDE, find_node

FOLDER = "some/folder"
PAGES = [
    "/lab",
    "/lab/three-locks",
    "/lab/two-consumers",
    "/lab/bank-transaction",
    "/tutorials",
    "/tutorials/04-three-locks",
    "/storage",
    *(f"/tutorials/{name}" for name in LESSONS),
]


class PlainFiles(http.server.SimpleHTTPRequestHandler):
    """What ``python -m http.server`` answers, in silence."""

    def log_message(self, *_: object) -> None: ...


@contextmanager
def served(root):
    """A host of plain files: its address."""
    handler = functools.partial(PlainFiles, directory=str(root))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join(timeout=10)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A site that has a few of the pages, below a folder of its host."""
    if find_node() is None or not PYODIDE.exists():
        lacking = "Pyodide is not installed: make test-rest, or npm ci"
        if os.environ.get("GLASSMQ_REQUIRE_PYODIDE") == "1":
            pytest.fail(lacking)
        pytest.skip(lacking)
    folder = tmp_path_factory.mktemp("host") / FOLDER
    apart(build_site, folder, PYODIDE, lambda _: None, PAGES)
    return folder


@pytest.fixture(scope="module")
def site(folder):
    """The address of the site, below a folder of its host."""
    with served(folder.parents[FOLDER.count("/")]) as host:
        yield f"{host}/{FOLDER}"


@pytest.fixture(scope="module")
def site_at_root(folder):
    """The address of a host that serves nothing else."""
    with served(folder) as host:
        yield host
