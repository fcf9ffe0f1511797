"""Building the site: what is missing is named before anything is written; the archive has what the worker imports."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from app.site.build import MANIFEST, build_site, digests, replace_files
from app.site.python_files import LEFT_OUT, MODULES, PACKAGES, RUNTIME_FILES, UNUSED_LIBRARY, SiteProblem, own_modules
from scripts.fetch_page_packages import PROJECT
from tests.support.pythons.other_pythons import PACKAGES as SITE_PACKAGES

LIBRARY = Path(sysconfig.get_path("stdlib"))
#: Prints the file of each module that the worker has imported, in a Python that has no more than a browser's.
IMPORTED = """
from tests.support.pythons.without_compiled_packages import hide_compiled_packages
hide_compiled_packages()
import sys
from app.site.worker import SiteWorker
SiteWorker(print)
for module in list(sys.modules.values()):
    print(getattr(module, "__file__", None) or "")
"""


@pytest.fixture
def pyodide(tmp_path):
    folder = tmp_path / "pyodide"
    folder.mkdir()
    for name in RUNTIME_FILES:
        (folder / name).touch()
    return folder


def test_a_missing_runtime_is_named_with_how_to_get_it(pyodide, tmp_path):
    (pyodide / "pyodide.asm.wasm").unlink()
    with pytest.raises(SiteProblem, match=r"pyodide\.asm\.wasm missing; run npm ci"):
        build_site(tmp_path / "site", pyodide, print)
    assert not (tmp_path / "site").exists()


def test_a_folder_with_other_files_is_left_as_it_is(pyodide, tmp_path):
    (tmp_path / "thesis.txt").write_text("irreplaceable")
    with pytest.raises(SiteProblem, match="has files that are not a site's"):
        build_site(tmp_path, pyodide, print)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pyodide", "thesis.txt"]


@pytest.fixture(scope="module")
def files():
    """What the worker has imported before a page asks it for anything."""
    done = subprocess.run([sys.executable, "-c", IMPORTED], cwd=PROJECT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [Path(line) for line in done.stdout.split("\n") if line]


def packages_of(files):
    paths = (file.relative_to(SITE_PACKAGES).as_posix() for file in files if file.is_relative_to(SITE_PACKAGES))
    return {re.split("[/.]", path)[0] for path in paths}


def test_a_world_need_not_wait_for_what_only_lessons_import(files):
    assert packages_of(files) & {"lark", "markdown_it", "sqlite_utils", "dateutil", "werkzeug"} == {"werkzeug"}


def test_the_archive_has_every_module_that_the_worker_imports(files):
    own = [file.relative_to(PROJECT).as_posix() for file in files if file.is_relative_to(PROJECT)]
    assert "app/site/worker.py" in own
    assert {path for path in own if path.startswith(("app/", "engine/"))} <= own_modules().keys()
    library = [file.relative_to(LIBRARY).as_posix() for file in files if file.is_relative_to(LIBRARY)]
    assert "http/server.py" in library
    assert [path for path in library if re.match(UNUSED_LIBRARY, path)] == []
    others = [file.relative_to(SITE_PACKAGES).as_posix() for file in files if file.is_relative_to(SITE_PACKAGES)]
    assert [path for path in others if LEFT_OUT.match(path)] == []
    assert packages_of(files) - {"_distutils_hack"} <= {*PACKAGES, *MODULES}


def test_the_archive_has_no_module_that_only_a_server_or_a_terminal_needs():
    rooms = {path.rpartition("/")[0] for path in own_modules()}
    assert {"app/site", "app/lab/session", "engine/lab/run"} <= rooms
    assert not [
        room for room in rooms if room.startswith(("app/commands", "app/metrics/", "app/watch", "engine/testkit"))
    ]
    assert not {"app/live/live_host.py", "app/server.py", "engine/live/live_machines.py"} & own_modules().keys()


def test_the_copy_of_browsers_has_all_files_but_sources_each_with_a_digest_of_its_content(tmp_path):
    for name in ("index.html", "python/glassmq.zst", "python/sources/engine/a.py", MANIFEST):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    before = digests(tmp_path)
    assert set(before) == {"index.html", "python/glassmq.zst"}
    (tmp_path / "index.html").write_text("changed")
    after = digests(tmp_path)
    assert after["index.html"] != before["index.html"]
    assert after["python/glassmq.zst"] == before["python/glassmq.zst"]


def test_a_new_build_removes_what_only_the_one_before_had_and_keeps_what_others_put_there(tmp_path):
    site, fresh = tmp_path / "site", tmp_path / "fresh"
    for folder, names in (
        (site, ("a.html", "old/b.html", "CNAME", "python/sources/gone.py")),
        (fresh, ("a.html", "new/c.html")),
    ):
        for name in names:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(folder.name)
    (site / MANIFEST).write_text(json.dumps({"files": {"a.html": "1", "old/b.html": "2"}}))
    (fresh / MANIFEST).write_text(json.dumps({"files": {}}))
    replace_files(site, fresh)
    files = {path.relative_to(site).as_posix() for path in site.rglob("*") if path.is_file()}
    assert files == {"a.html", "new/c.html", "CNAME", MANIFEST}
    assert (site / "a.html").read_text() == "fresh"
