"""``glassmq faults page``: recorded frames as pages that need no server."""

from __future__ import annotations

import json
import re

import pytest
from click.testing import CliRunner

from app.command_line import main
from tests.app.lab.views.test_frame_recording_view import frame_file


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(*arguments, **files):
        for name, content in files.items():
            (tmp_path / f"{name}.json").write_text(json.dumps(content))
        return CliRunner().invoke(main, ["faults", "page", *arguments])

    return run


def page_with(data):
    """A page with this data for its stage."""
    return b'<html><script type="application/json" id="lab-data" nonce="n">' + data + b"</script>"


def recording_of(page):
    found = re.search(r'<script type="application/json" id="lab-data"[^>]*>(.*?)</script>', page, re.DOTALL)
    return json.loads(found[1])["recording"]


def test_a_file_of_frames_becomes_a_page_that_loads_nothing(run, tmp_path):
    result = run("shop.json", shop=frame_file())
    assert result.exit_code == 0, result.output
    assert result.output.split() == ["shop.html"]
    page = (tmp_path / "shop.html").read_text()
    assert recording_of(page)["view"]["title"] == {"en": "shop", "zh": "shop"}
    assert len(recording_of(page)["journal"]) == 3
    assert not re.findall(r'(?:src|href)="/[^"]*"', page)
    assert (tmp_path / "shop.json").exists()


def test_a_page_names_the_test_and_its_failure(run, tmp_path):
    run("shop.json", "--replace", shop=frame_file(title="test_it </script>", note="it <b>failed</b>"))
    view = recording_of((tmp_path / "shop.html").read_text())["view"]
    assert (view["title"]["en"], view["summary"]["zh"]) == ("test_it </script>", "it <b>failed</b>")
    assert not (tmp_path / "shop.json").exists()


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ({"format": "other"}, "format: 'other' is not allowed; allowed: glassmq-frames"),
        (frame_file(frames=[]), "frames: has 0 entries"),
        (frame_file(title=7), "title: 7 is not allowed"),
    ],
)
def test_a_wrong_file_is_named_and_stays_and_the_others_are_written(run, tmp_path, content, problem):
    result = run("wrong.json", "shop.json", "--replace", wrong=content, shop=frame_file())
    assert result.exit_code == 1
    assert "wrong.json" in result.output and problem in result.output
    assert (tmp_path / "wrong.json").exists() and (tmp_path / "shop.html").exists()


@pytest.mark.parametrize("content", ["{", "[" * 100_000, "\ufeff{}", '{"format": "a", "format": "b"}'])
def test_a_file_that_is_not_json_is_named(run, tmp_path, content):
    (tmp_path / "shop.json").write_text(content)
    result = run("shop.json")
    assert result.exit_code == 1 and isinstance(result.exception, SystemExit)
    assert "shop.json: " in result.output


def test_a_page_that_cannot_be_written_is_named_and_its_frames_stay(run, tmp_path):
    (tmp_path / "shop.html").mkdir()
    result = run("shop.json", "--replace", shop=frame_file())
    assert result.exit_code == 1 and isinstance(result.exception, SystemExit)
    assert "shop.html" in result.output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["shop.html", "shop.json"]


def test_a_page_and_its_frames_give_the_same_scenario_with_a_list_of_what_is_missing(run, tmp_path):
    run("shop.json", shop=frame_file(title="test_it"))
    written = {}
    for kind in ("html", "json"):
        result = CliRunner().invoke(main, ["faults", "scenario", f"shop.{kind}", "--out", f"{kind}.yaml"])
        assert result.exit_code == 0, result.output
        assert "not carried over:\n  the oldest 6 frames" in result.output
        written[kind] = (tmp_path / f"{kind}.yaml").read_text()
    assert written["html"] == written["json"]
    assert "title: {en: test_it, zh: test_it}" in written["html"]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("<html>", "the page has no scenario; allowed: pages of glassmq faults page"),
        (page_with(b"{}"), "the page has no scenario; allowed: pages of glassmq faults page"),
        (page_with(b"[]"), "page: [] is not allowed; allowed: an object"),
        (page_with(b'{"recording": 7}'), "page.recording: 7 is not allowed"),
        (page_with(b'{"recording": {"scenario": {"text": "", "left_out": []}}}'), "page.recording.scenario.text: "),
        (page_with(b'{"recording": {"scenario": {"text": "a", "left_out": [7]}}}'), "scenario.left_out[0]: 7"),
        (page_with(b"[" * 100_000), "is not JSON"),
        ("{}", "format: is missing"),
        ("[" * 100_000, "file: is not JSON"),
        (b"\xff\xfe", "file: is not JSON"),
    ],
)
def test_a_file_without_frames_gives_no_scenario(run, tmp_path, content, problem):
    (tmp_path / "shop.html").write_bytes(content if isinstance(content, bytes) else content.encode())
    result = CliRunner().invoke(main, ["faults", "scenario", "shop.html"])
    assert result.exit_code == 1 and isinstance(result.exception, SystemExit)
    assert problem in result.output
    assert not (tmp_path / "recorded.yaml").exists()
