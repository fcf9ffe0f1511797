"""A run leaves its page: as a link to the very event, as a frame of another page; a finished run begins again."""

from __future__ import annotations

import dataclasses
import re
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from engine.lab.run.run import LabRun
from engine.lab.scenario.scenario_files import load_scenario
from tests.e2e.accessibility import findings_in_every_theme
from tests.e2e.lab.lab_page import event_number, expect_event, open_share, opened, run_to_ms, run_until, scrub_to
from tests.e2e.scenes import empty_scene


@pytest.fixture
def address(serve) -> str:
    return serve(empty_scene())


@pytest.fixture
def slides() -> Iterator[Callable[[str], str]]:
    """A function that serves some HTML from another port of this machine and returns its address."""
    body = b""

    class Slides(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(body if self.path == "/" else b"")

        def log_message(self, *_: object) -> None:
            return

    def show(html: str) -> str:
        nonlocal body
        body = f'<link rel="icon" href="data:,">{html}'.encode()  # else the browser asks for one, maybe after the end
        return f"http://127.0.0.1:{server.server_port}/"

    server = HTTPServer(("127.0.0.1", 0), Slides)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield show
    server.shutdown()
    server.server_close()
    thread.join(timeout=10)


@pytest.fixture
def page(address, open_page):
    return opened(open_page(f"{address}/lab/hello"))


def test_a_shared_link_leads_to_the_event_that_one_looks_at_and_keeps_what_came_after(page, open_page):
    run_to_ms(page, 400)
    last = event_number(page)
    scrub_to(page, 20)
    link = open_share(page).locator("#share-link").input_value()
    other = opened(open_page(link))
    expect_event(other, 20)
    expect(other.locator("#past-banner")).to_contain_text(f"of {last}")
    page.wait_for_function("link => location.href === link", arg=link)


def new_tab(page: Page, address: str) -> Page:
    """Open an address in another tab of the browser of ``page``."""
    tab = page.context.new_page()
    tab.goto(address)
    return tab


@pytest.mark.parametrize(
    ("language", "title"), [("en", r"Your run of \d\d:\d\d is at event 1,?\d*"), ("zh", "停在事件")]
)
def test_a_scenario_begins_again_or_goes_on_as_one_chooses(page, address, language, title):
    run_to_ms(page, 400)
    last = event_number(page)
    asking = new_tab(page, f"{address}/lab/hello?lang={language}")
    dialog = asking.get_by_role("dialog", name=re.compile(title))
    expect(dialog.locator("button").first).to_be_focused()
    assert findings_in_every_theme(asking, "#continue-run") == []
    asking.keyboard.press("Enter")
    expect_event(opened(asking), last)
    asking.close()
    asking = new_tab(page, f"{address}/lab/hello?lang={language}")
    expect(dialog_of(asking)).to_be_visible()
    asking.keyboard.press("Escape")
    expect_event(opened(asking), 0)
    asking.reload()
    expect_event(opened(asking), 0)
    expect(dialog_of(asking)).to_have_count(0)
    page.reload()
    expect_event(opened(page), last)


def dialog_of(page: Page) -> Locator:
    return page.locator("#continue-run")


def test_a_link_opens_its_moment_though_the_run_went_on(page, address):
    run_to_ms(page, 400)
    early = event_number(page)
    page.wait_for_function("() => location.hash.length > 1")
    link = open_share(page).locator("#share-link").input_value()
    page.keyboard.press("Escape")
    run_to_ms(page, 3000)
    assert event_number(page) > early
    expect_event(opened(new_tab(page, link)), early)


def link_to_another_run() -> str:
    """A link to event 40 of ``hello``, at a time at which it does not happen."""
    with LabRun(load_scenario("hello")) as run:
        run.run_events(40)
        return dataclasses.replace(run.recording(), time_us=1).link()


@pytest.mark.parametrize(("at", "shown"), [("", 40), ("?at=10", 10)])
def test_a_link_that_leads_to_another_run_says_so(address, open_page, at, shown):
    with ThreadPoolExecutor(1) as aside:  # this thread has the browser's event loop
        link = aside.submit(link_to_another_run).result()
    page = opened(open_page(f"{address}/lab/hello{at}#{link}"))
    expect_event(page, shown)
    expect(page.locator("#difference")).to_contain_text("lead elsewhere here than when it was recorded")


def test_a_connection_that_was_lost_is_taken_up_where_it_was(page):
    run_to_ms(page, 400)
    last = event_number(page)
    page.evaluate("async () => (await import('/static/common/transport.js')).openConnection('/live').io.engine.close()")
    page.wait_for_selector("#connection[data-status=reconnecting]")
    expect_event(opened(page), last)
    expect(dialog_of(page)).to_have_count(0)


def test_a_world_that_plays_rests_while_its_tab_is_hidden(page):
    hide = """(state) => {
      Object.defineProperty(document, 'hidden', { value: state, configurable: true });
      document.dispatchEvent(new Event('visibilitychange'));
    }"""
    page.locator("#control-play").click()
    expect(page.locator("html")).to_have_attribute("data-playing", "yes")
    page.evaluate(hide, True)
    expect(page.locator("html")).to_have_attribute("data-playing", "no")
    page.evaluate(hide, False)
    expect(page.locator("html")).to_have_attribute("data-playing", "yes")


def test_the_embed_code_shows_the_stage_with_a_slim_row_in_a_page_of_another_port(page, open_page, slides):
    run_until(page, "sent", node="P1")
    code = open_share(page).locator("#share-embed").input_value()
    assert code.startswith("<iframe src=")
    frame = open_page(slides(code)).frame_locator("iframe")
    expect(frame.locator("[data-node=B1] [data-record]")).to_have_count(1)
    for hidden in (".page-head", ".drawer", ".drawer-closed", "canvas"):
        expect(frame.locator(hidden).filter(visible=True)).to_have_count(0)
    before = event_number(page)
    frame.locator("#control-step").click()
    expect(frame.locator("#event-number")).to_have_attribute("data-event", str(before + 1))
    expect_event(page, before)


#: What a browser does to a page in the frame of another site whose visitor forbids it to keep anything.
NO_PLACE_TO_KEEP = """
    if (self !== top) {
      const denied = { get() { throw new DOMException("Access is denied for this document.", "SecurityError"); } };
      Object.defineProperty(window, "localStorage", denied);
      Object.defineProperty(window, "sessionStorage", denied);
    }
"""


def test_in_a_frame_of_another_site_the_stage_works_without_cookies_and_without_a_place_to_keep_things(
    page, open_page, slides
):
    """127.0.0.1 and localhost are one machine and two sites. No console may complain: ``open_page`` sees to that."""
    run_until(page, "sent", node="P1")
    code = open_share(page).locator("#share-embed").input_value()
    other = open_page("about:blank")
    other.context.add_init_script(NO_PLACE_TO_KEEP)
    other.goto(slides(code).replace("127.0.0.1", "localhost"))
    inner = other.frame_locator("iframe")
    assert (
        inner.locator("body").evaluate(
            "() => { try { return String(localStorage) } catch (error) { return error.name } }"
        )
        == "SecurityError"
    )
    before = event_number(page)
    expect(inner.locator("#event-number")).to_have_attribute("data-event", str(before))
    inner.locator("#control-step").click()
    expect(inner.locator("#event-number")).to_have_attribute("data-event", str(before + 1))
    window = (
        "import('/static/common/world/session.js').then(({ run }) => run.window(0, 400)).then((found) => found.entries"
    )
    assert inner.locator("body").evaluate(f"() => {window}.length)") > 0
    # What would be kept is chosen all the same: a folded card, the theme.
    inner.locator("[data-node=C1] .fold-button").click()
    expect(inner.locator("[data-node=C1]")).to_have_class(re.compile("is-folded"))
    inner.locator("body").evaluate("() => window.glassmqTheme.choose('dark')")
    expect(inner.locator("html")).to_have_attribute("data-theme", "dark")
    inner.locator("#control-play").click()
    expect(inner.locator("#control-play")).to_contain_text("Pause")
    assert other.context.cookies() == []


def test_only_what_is_made_for_it_stands_in_a_frame(page, open_page, slides):
    code = open_share(page).locator("#share-embed").input_value()
    open_page(slides(code.replace("embed=1", ""))).title()
    assert any("frame-ancestors 'none'" in text for text in open_page.complaints)
    open_page.complaints.clear()


def test_a_finished_run_that_is_opened_again_offers_to_begin_again(page, open_page):
    run_to_ms(page, 3_600_000)
    expect(page.locator("#begin-again")).to_be_visible()
    other = opened(open_page(open_share(page).locator("#share-link").input_value()))
    again = other.locator("#begin-again")
    again.get_by_role("button", name="Rewind").click()
    expect_event(other, 0)
    expect(again).to_have_count(0)
    other.keyboard.press("End")
    expect(again).to_be_visible()
    other.keyboard.press("r")
    expect(other.locator("#event-number")).to_have_text(re.compile("event 0 of 0"))
    expect(again).to_have_count(0)


def exported(page: Page, folder: Path) -> str:
    """The address of a run's file."""
    with page.expect_download() as download:
        open_share(page).locator("#export-html").click()
    download.value.save_as(folder / "run.html")
    return (folder / "run.html").as_uri()


def test_an_exported_page_opens_where_one_was_and_knows_what_came_after(page, open_page, tmp_path):
    run_to_ms(page, 1500)
    last = event_number(page)
    scrub_to(page, 37)
    replay = open_page(exported(page, tmp_path), offline=True)
    expect_event(replay, 37)
    expect(replay.locator("#event-number")).to_have_text(f"event 37 of {last}")
    expect(replay.locator(".recorded-note")).to_contain_text("A recorded run")
    for node in ("N1", "B1", "P1", "C1"):
        status = page.locator(f"[data-node={node}]").get_attribute("data-status")
        expect(replay.locator(f"[data-node={node}]")).to_have_attribute("data-status", status)
    scrub_to(replay, last)
    replay.locator("#begin-again button").click()
    expect(replay.locator("#control-play")).to_have_text("Pause")
    expect(replay.locator("#begin-again")).to_have_count(0)


def test_nothing_in_an_exported_page_leads_out_of_it(page, open_page, tmp_path):
    run_to_ms(page, 1500)
    replay = open_page(exported(page, tmp_path), offline=True)
    asked = []
    replay.on("request", lambda request: asked.append(request.url))
    replay.locator("#expert").click()
    tabs = replay.locator("[role=tab]")
    for index in range(tabs.count()):
        tabs.nth(index).click()
        links = replay.locator("a").evaluate_all("all => all.map((one) => one.getAttribute('href'))")
        assert [link for link in links if not link.startswith("#")] == []
    for gone in ("#share", "#side-by-side", "#audit", "#tab-explorer", "#language-choice", ".site-parts"):
        expect(replay.locator(gone)).to_have_count(0)
    assert [url for url in asked if not url.startswith(("data:", "blob:"))] == []
