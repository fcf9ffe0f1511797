"""``glassmq lab export``: a recording, or a page that holds the stage of a site, and what is refused."""

from __future__ import annotations

import html
import json
import re

import pytest
from click.testing import CliRunner

from app.command_line import main
from engine.lab.run.key_moment import key_moment_of
from engine.lab.run.recording import parse_link
from engine.lab.scenario.scenario_files import load_scenario

SITE = "https://host.example/glassmq"


def exported(folder, *arguments: str) -> str:
    file = folder / "run.html"
    result = CliRunner().invoke(main, ["lab", "export", *arguments, "-o", str(file)])
    assert result.exit_code == 0, result.output
    return file.read_text(encoding="utf-8")


def test_a_recording_opens_at_the_event_and_needs_nothing_else(tmp_path):
    page = exported(tmp_path, "hello", "--at", "40", "--lang", "zh")
    assert '<html lang="zh-CN"' in page
    assert re.findall(r'\b(?:src|href)="/static[^"]*"', page) == []
    data = re.search(r'<script type="application/json" id="lab-data"[^>]*>(.*?)</script>', page, re.DOTALL)
    recording = json.loads(html.unescape(data[1]))["recording"]
    assert recording["view"]["scenario"] == "hello"
    assert recording["at"] == 40 and len(recording["patches"]) >= 40


def test_a_live_page_holds_the_stage_at_the_moment_of_the_link(tmp_path):
    moment = key_moment_of(load_scenario("three-locks"))
    for arguments in ([], ["--link", f"http://127.0.0.1:8000/lab/three-locks#{moment.link()}"]):
        page = exported(tmp_path, "three-locks", "--live", "--site", f"{SITE}/", "--lang", "zh", *arguments)
        stage = re.search(rf'frame.src = "{SITE}/zh/lab/three-locks/\?embed=1#([\w-]+)"', page)
        held = parse_link(stage[1])
        assert (held.event, held.time_us) == (moment.event, moment.time_us)
        assert f'href="{SITE}/zh/lab/three-locks/#{stage[1]}"' in page
        assert 'src="data:image/webp;base64,' in page


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["hello", "--at", "99999999"], "--at: the run has no event 99999999; allowed: 0 to "),
        (["hello", "--at", "1", "--link", "x"], "allowed: --link without --at"),
        (["hello", "--link", "x"], "Invalid value for --link: "),
        (["hello", "--live"], "--live and --site go together"),
        (["hello", "--site", SITE], "--live and --site go together"),
        (["hello", "--live", "--site", "javascript:alert(1)"], "allowed: an address such as https://"),
        (
            ["own.yaml", "--at", "1", "--live", "--site", SITE],
            "--live: a site has no scenario own; allowed: those of glassmq lab list",
        ),
    ],
)
def test_what_cannot_be_exported_is_refused(arguments, problem, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.yaml").write_text(load_scenario("hello").text, encoding="utf-8")
    result = CliRunner().invoke(main, ["lab", "export", *arguments])
    assert result.exit_code == 2 and problem in result.output
    assert [file.name for file in tmp_path.iterdir()] == ["own.yaml"]
