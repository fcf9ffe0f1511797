"""The lab's pages, details, exports and the import."""

import html
import json
import re
from pathlib import Path

import pytest

from app.foundation.patch import apply_patch
from app.foundation.translator import translate
from app.lab.foundation.browser_identity import COOKIE
from app.lab.routes.scenario_list import SHELVES, START_HERE, scenario_words
from engine.lab.scenario.scenario_files import load_scenario, preset_scenario_names, shelved_scenario_names

ROOT = Path(__file__).parents[4]


@pytest.fixture
def browser(lab):
    browser = lab.browser()
    browser.open(scenario="hello")
    browser.control("run-until", on="sent")
    return browser


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_list_and_every_scenario_are_served_in_both_languages(lab, language):
    http = lab.server.app.test_client()
    page = http.get(f"/lab?lang={language}").text
    names = re.findall(r'href="/lab/([\w-]+)"', page)
    assert {"general", "hello"} <= set(names)
    for name in names:
        response = http.get(f"/lab/{name}?lang={language}")
        assert response.status_code == 200
        assert f'lang="{language}' in response.text


def test_the_list_shows_every_shelf_and_each_scenario_once_where_its_order_puts_it(lab):
    page = lab.server.app.test_client().get("/lab").text
    assert sorted(SHELVES) == sorted(shelved_scenario_names())
    shown = {
        shelf: re.findall(r'href="/lab/([\w-]+)"', part)
        for shelf, part in zip(SHELVES, page.split('class="shelf" id=')[1:], strict=True)
    }
    assert sorted(name for names in shown.values() for name in names) == sorted(preset_scenario_names())
    for names in shown.values():
        assert names == sorted(names, key=lambda name: load_scenario(name).order)
    assert shown["order"][:2] == ["three-locks", "global-order"]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_row_of_the_list_says_what_its_scenario_is_about_and_is_found_in_both_languages(lab, language):
    page = lab.server.app.test_client().get(f"/lab?lang={language}").text
    row = page[page.index('class="shelf" id="order"') :]
    row = row[: row.index("</details>")]
    scenario = load_scenario("three-locks")
    assert html.escape(scenario.summary[language], quote=False) in row
    assert f'alt="{scenario.key_moment.shows[language]}"' in row
    assert 'src="/static/lab/pictures/order/three-locks.webp"' in row
    assert 'src="/static/lab/pictures/order/three-locks.dark.webp"' in row
    words = scenario_words()["three-locks"]
    for word in ("three-locks", "三把锁", "broker lock", "orders", translate("zh", "lab.breaks.lock"), "ordered"):
        assert word in words


def test_the_list_begins_with_three_to_begin_with(lab):
    page = lab.server.app.test_client().get("/lab").text
    begin = page[page.index('id="begin"') : page.index('class="shelf"')]
    assert re.findall(r'href="/lab/([\w-]+)"', begin) == list(START_HERE)


def test_a_scenario_that_does_not_exist_is_a_404(lab):
    http = lab.server.app.test_client()
    assert http.get("/lab/nothing-like-it").status_code == 404
    assert http.get("/lab/..%2f..%2fetc%2fpasswd").status_code == 404


def test_a_browser_gets_one_identity_and_keeps_it(lab):
    http = lab.server.app.test_client()
    cookie = http.get("/lab").headers["Set-Cookie"]
    assert cookie.startswith(f"{COOKIE}=")
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    assert "Set-Cookie" not in http.get("/lab/hello").headers


def test_a_frame_opens_down_to_its_bytes(browser):
    frame = next(f for f in browser.view["frames"] if f["kind"] == "request")
    detail = browser.http.get(f"/api/lab/{browser.world}/frames/{frame['id']}").get_json()
    assert detail["name"] == frame["name"]
    assert len(detail["hex"]) == 2 * frame["size_bytes"]
    assert detail["fields"]
    assert detail["body_start"] + detail["body_bytes"] == frame["size_bytes"]


def test_a_frame_that_is_not_kept_and_a_world_that_is_not_yours_are_404(lab, browser):
    assert browser.http.get(f"/api/lab/{browser.world}/frames/99999999").status_code == 404
    stranger = lab.server.app.test_client()
    for path in ("frames/1", "export.json", "export.html"):
        answer = stranger.get(f"/api/lab/{browser.world}/{path}")
        assert answer.status_code == 404
        assert answer.get_json()["text"]["zh"]


def test_an_exported_run_is_imported_as_the_identical_world(lab, browser):
    browser.command("pause-node", "C1")
    browser.control("run-until", on="time", time_us=browser.view["time_us"] + 500_000)
    exported = browser.http.get(f"/api/lab/{browser.world}/export.json")
    assert "attachment" in exported.headers["Content-Disposition"]
    other = lab.browser()
    answer = other.http.post("/api/lab/import", json=exported.get_json())
    assert answer.status_code == 201
    view = other.open(world=answer.get_json()["world"])
    assert other.mine
    assert view["event"] == browser.view["event"]
    assert view["link"] == browser.view["link"]
    assert view["nodes"] == browser.view["nodes"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"{}",
        b'{"format": "glassmq-lab-run", "version": 1}',
        b"[" * 30_000,
        b'"' + b"x" * 61_000 + b'"',
    ],
)
def test_what_is_no_exported_run_is_refused(browser, body):
    answer = browser.http.post("/api/lab/import", data=body)
    assert answer.status_code in (400, 413)
    if answer.status_code == 400:
        assert answer.get_json()["text"]["en"] == answer.get_json()["error"]


def test_an_imported_run_s_scenario_is_checked_and_never_taken_for_a_path(lab, browser):
    run = browser.http.get(f"/api/lab/{browser.world}/export.json").get_json()
    for change in ({"text": "nodes: 7"}, {"seed": -1}, {"commands": [{"command": {"kind": "x"}}]}, {"event": 10**9}):
        assert browser.http.post("/api/lab/import", json={**run, **change}).status_code == 400
    assert len(lab.host.worlds.sessions) == 1


@pytest.mark.parametrize("name", ["../../x", "a/b", "..", "", "a b", "-x", "x.yaml", "<b>", "x" * 61, "a\x00b", 7])
def test_an_imported_run_s_name_that_leads_elsewhere_is_refused(lab, browser, name):
    run = browser.http.get(f"/api/lab/{browser.world}/export.json").get_json()
    answer = browser.http.post("/api/lab/import", json={**run, "scenario": name})
    assert answer.status_code == 400
    texts = answer.get_json()["text"]
    assert "allowed" in texts["en"] or "at most 60" in texts["en"]
    assert texts["zh"]
    assert len(lab.host.worlds.sessions) == 1


@pytest.mark.parametrize(
    "file",
    ["", "engine", "engine/../app/web_application.py", str(ROOT / "app/web_application.py"), "app/web_application.py",
     "engine/lab/run/run.pyc", "engine/lab//run/run.py", "engine/lab/run/./run.py", str(ROOT / "engine/lab/run/run.py"),
     "engine/texts/en.json", "engine/lab/nothing.py", "engine/lab/%00.py", "engine/" + "x/" * 200 + "y.py"],
)  # fmt: skip
def test_only_the_engine_s_own_source_is_shown(lab, file):
    http = lab.server.app.test_client()
    assert http.get("/api/lab/source", query_string={"file": "engine/lab/run/run.py"}).status_code == 200
    assert http.get("/api/lab/source", query_string={"file": file}).status_code == 404


def test_the_line_that_runs_next_is_in_the_source(browser):
    step = browser.view["next"]
    source = browser.http.get("/api/lab/source", query_string={"file": step["file"]}).get_json()
    assert 0 < step["line"] <= len(source["lines"])


def test_the_exported_page_needs_no_server(browser):
    response = browser.http.get(f"/api/lab/{browser.world}/export.html")
    assert response.status_code == 200
    page = response.text
    assert not re.search(r"""(?:src|href)=["']/static/""", page)
    found = re.search(r'<script type="application/json" id="lab-data"[^>]*>(.*?)</script>', page, re.DOTALL)
    film = json.loads(found[1])["recording"]
    view = film["view"]
    for operations in film["patches"]:
        view = apply_patch(view, operations)
    assert view["event"] == browser.view["event"]
    assert view["nodes"] == browser.view["nodes"]
    assert film["journal"][-1][0] == view["event"]
    imports = json.loads(re.search(r'<script type="importmap">(.*?)</script>', page, re.DOTALL)[1])["imports"]
    assert all(address.startswith("data:text/javascript") for address in imports.values())
    assert "static/lab/main.js" in imports
