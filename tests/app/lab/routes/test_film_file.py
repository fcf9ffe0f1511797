"""The start page's film that was made at build time: what a server sends, and of which sources."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from app.lab.routes import film_file
from app.lab.routes.film_file import built_film, pack_film, write_built_film
from app.picture.session.film import Demonstration

FILM: Demonstration = {"address": "/lab/start-page", "lesson": "/tutorials/04-three-locks", "view": {}, "chapters": []}
_MAKE = "import pathlib, sys; from app.lab.routes import film_file; film_file.BUILT = pathlib.Path(sys.argv[1]);"


@pytest.fixture
def built(tmp_path, monkeypatch):
    """The folder of the file."""
    monkeypatch.setattr(film_file, "BUILT", tmp_path / "built")
    return tmp_path / "built"


def made(folder, hash_seed):
    """The files that the script makes, in a process of its own."""
    code = f"{_MAKE} from scripts.start_page_film import main; main()"
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    subprocess.run([sys.executable, "-c", code, str(folder)], env=environment, check=True)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_build_makes_the_same_bytes_every_time_whatever_the_seed_of_hashes(tmp_path):
    first = made(tmp_path / "first", "1")
    assert len(first) == 1
    assert made(tmp_path / "second", "2") == first


def test_the_start_page_sends_the_built_film_and_asks_the_lab_for_none(lab, built, monkeypatch):
    asked = []
    monkeypatch.setattr(lab.server.lab.worlds, "add_film", asked.append)
    write_built_film(FILM)
    http = lab.server.app.test_client()
    assert http.get("/").status_code == 200
    answer = http.get("/api/demonstration")
    assert answer.json == FILM
    assert answer.headers["ETag"] == f'"{pack_film(FILM).etag}"'
    assert asked == []


def test_a_film_of_other_sources_is_neither_sent_nor_kept(built, monkeypatch):
    write_built_film(FILM)
    assert built_film() == pack_film(FILM)
    monkeypatch.setattr(film_file, "sources_digest", lambda: "other")
    assert built_film() is None
    write_built_film({**FILM, "address": "/lab"})
    assert [path.name for path in built.iterdir()] == ["start-page-other.json.gz"]


@pytest.mark.parametrize("name", ["module.py", "deeper/grammar.lark", "texts.json"])
def test_the_digest_changes_with_every_source(tmp_path, monkeypatch, name):
    monkeypatch.setattr(film_file, "_PACKAGES", (tmp_path,))
    source = tmp_path / name
    source.parent.mkdir(exist_ok=True)
    digests = set()
    for content in ("one", "two"):
        source.write_text(content)
        digests.add(film_file.sources_digest.__wrapped__())
    (tmp_path / "built").mkdir()
    (tmp_path / "built" / "manifest.json").write_text("{}")
    digests.add(film_file.sources_digest.__wrapped__())
    assert len(digests) == 2


def test_make_always_runs_the_script_which_notices_a_deleted_source():
    command = ["make", "-n", "film"]
    printed = subprocess.run(command, cwd=film_file.BUILT.parents[1], capture_output=True, text=True, check=True).stdout
    assert "-m scripts.start_page_film" in printed
