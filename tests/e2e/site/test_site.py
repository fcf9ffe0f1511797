"""The site without a server: its lab and its lessons run in the browser, from a folder of a host of plain files."""

from __future__ import annotations

import base64
import gzip
import json
import re
import subprocess
import zlib
from pathlib import Path

import pytest
from playwright.sync_api import expect

from app.pictures.chromium import LAUNCH_ARGUMENTS, find_chromium
from app.run_files import live_file
from engine.lab.run.key_moment import key_moment_of
from engine.lab.scenario.scenario_files import load_scenario
from tests.e2e.lab.lab_page import event_number, expect_event, open_share, opened, run_to_ms, show_panel
from tests.e2e.lesson_page import do_it, go_to, lesson, lesson_data, take_step
from tests.e2e.scenes import empty_scene
from tests.e2e.site.site_page import KNOWN_WORKER, LESSONS, STARTED_WITHIN_MS, apart, ask, shown
from tests.support.pythons import other_pythons
from tests.support.pythons.other_pythons import find_node
from tests.support.tiers import sampled

#: A codec that WebAssembly lacks.
NOT_ON_THE_SITE = {"compressed-batches"}


#: A browser that stores nothing, as with strict settings.
NOTHING_STORED = """
Object.defineProperty(navigator, 'serviceWorker', { value: undefined });
Object.defineProperty(globalThis, 'indexedDB', { value: undefined });
Object.defineProperty(globalThis, 'localStorage', { get() { throw new DOMException("denied", "SecurityError"); } });
"""


def test_a_world_plays_and_a_lesson_is_done_where_the_browser_stores_nothing(site, open_page):
    page = open_page("about:blank")
    page.add_init_script(NOTHING_STORED)
    page.goto(f"{site}/lab/three-locks/")
    page.set_default_timeout(STARTED_WITHIN_MS)
    opened(page)
    requested = []
    page.on("request", lambda request: requested.append(request.url))
    page.locator("#control-step").click()
    expect_event(page, 1)
    page.locator("#control-play").click()
    page.wait_for_function("() => document.querySelector('#event-number').dataset.event > 30")
    page.goto(f"{site}/tutorials/04-three-locks/")
    lesson(page)
    go_to(page, 1)
    page.locator("#skip-prediction").click()
    expect(do_it(page)).to_contain_text("Done")
    expect(page.locator(".dot-done")).to_have_count(1)
    assert all(url.startswith((f"{site}/", "blob:")) for url in requested), requested


@pytest.mark.parametrize("name", sampled(LESSONS, every=2))
def test_a_lesson_is_done_up_to_its_first_action(site, open_page, name):
    page = open_page(f"{site}/tutorials/{name}/")
    page.set_default_timeout(STARTED_WITHIN_MS)
    steps = lesson_data(lesson(page))["steps"]
    number = next(number for number, step in enumerate(steps, 1) if step["action"])
    go_to(page, number)
    take_step(page, steps[number - 1])


@pytest.mark.thorough
def test_every_scenario_opens_with_the_modules_of_the_site_after_the_imported_ones_are_freed(folder):
    program = Path(other_pythons.__file__).with_name("open_every_scenario.mjs")
    done = subprocess.run([str(find_node()), program, folder], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2_000:]
    result = json.loads(done.stdout)
    assert set(result["failed"]) == NOT_ON_THE_SITE
    assert result["compiled_at_start"] == 0
    before, after = result["megabytes"]
    assert after < before / 5


@pytest.mark.thorough
def test_python_and_the_modules_are_small_on_the_wire(folder):
    files = (file for file in (folder / "python").rglob("*") if file.is_file() and "sources" not in file.parts)
    assert sum(len(gzip.compress(file.read_bytes())) for file in files) < 8.7e6


def list_after_a_step(page, site):
    """Do a step of a lesson and open the list, which has it. Return the lesson's row there."""
    page.set_default_timeout(STARTED_WITHIN_MS)
    page.goto(f"{site}/tutorials/04-three-locks/")
    lesson(page)
    go_to(page, 1)
    page.locator("#skip-prediction").click()
    expect(do_it(page)).to_contain_text("Done")
    page.goto(f"{site}/tutorials/")
    row = page.locator("[data-lesson='04-three-locks']")
    expect(row.locator(".lesson-state")).to_have_text(re.compile("^1 of [0-9]+ steps done$"))
    return row


def test_a_done_step_stays_done_and_goes_to_another_browser_as_a_file(site, open_page, tmp_path):
    page = open_page("about:blank")
    row = list_after_a_step(page, site)
    lesson_page = page.context.new_page()
    lesson_page.goto(f"{site}/tutorials/04-three-locks/")
    expect(lesson_page.locator(".dot-done")).to_have_count(1)
    expect(lesson_page.locator(".dots button").nth(2)).to_have_attribute("aria-current", "step")
    track = page.locator(".lesson-track", has=row)
    expect(track.locator(".track-next")).to_have_text("Begin with lesson 3")
    with page.expect_download() as saving:
        page.locator(".list-foot a[download]").click()
    saving.value.save_as(tmp_path / "progress.json")

    other = open_page(f"{site}/zh/tutorials/")
    other.set_default_timeout(STARTED_WITHIN_MS)
    row = other.locator("[data-lesson='04-three-locks']")
    expect(row.locator(".lesson-state")).to_have_text("尚未开始")
    other.set_input_files("#progress-file", tmp_path / "progress.json")
    expect(row.locator("progress")).to_have_js_property("value", 1, timeout=STARTED_WITHIN_MS)
    other.goto(f"{site}/zh/tutorials/04-three-locks/")
    expect(other.locator(".dot-done")).to_have_count(1)


def test_steps_that_another_tab_has_forgotten_do_not_come_back(site, open_page):
    page = open_page("about:blank")
    list_after_a_step(page, site)
    page.goto(f"{site}/tutorials/04-three-locks/")
    lesson(page)
    other = page.context.new_page()
    other.set_default_timeout(STARTED_WITHIN_MS)
    other.goto(f"{site}/tutorials/04-three-locks/?step=summary")
    lesson(other)
    other.locator("#begin-anew").click()
    other.locator("#begin-anew-yes").click()
    expect(other.locator(".dot-done")).to_have_count(0)
    go_to(page, 2)
    take_step(page, lesson_data(page)["steps"][1])
    page.goto(f"{site}/tutorials/04-three-locks/")
    expect(page.locator(".dot-done")).to_have_count(1)
    expect(page.locator(".dots button").nth(2)).to_have_class(re.compile("dot-done"))


#: Ends the worker, as leaving the page does, with its answer that a step is done.
ENDS_WITH_A_DONE_STEP = """
globalThis.Worker = class extends Worker {
  constructor(...options) {
    super(...options);
    this.addEventListener("message", ({ data }) => {
      if (data.answer && /"done": ?true/.test(new TextDecoder().decode(data.answer.body))) this.terminate();
    });
  }
};
"""


def test_a_step_is_stored_before_it_is_said_to_be_done(site, open_page):
    page = open_page("about:blank")
    page.add_init_script(ENDS_WITH_A_DONE_STEP)
    list_after_a_step(page, site)


def test_a_search_finds_a_bad_schedule_while_the_world_goes_on(site, open_page):
    page = open_page(f"{site}/lab/two-consumers/")
    page.set_default_timeout(STARTED_WITHIN_MS)
    opened(page)
    show_panel(page, "explorer")
    page.locator(".explorer-form input[value=process-queue-lock]").check()
    page.locator(".explorer-form button[type=submit]").click()
    page.locator("#control-step").click()
    expect_event(page, 1)
    expect(page.locator(".explorer-holds li")).to_contain_text("C1/worker-0 is held for", timeout=STARTED_WITHIN_MS)
    page.locator(".explorer-request summary").click()
    page.locator(".explorer-form button[type=submit]").click()
    page.locator(".explorer-bar button").click()
    expect(page.locator(".explorer-progress")).to_contain_text("The search was cancelled")


def test_the_storage_laboratory_writes_its_stores_in_the_browser(site, open_page):
    page = open_page("about:blank")
    page.set_default_timeout(STARTED_WITHIN_MS)
    page.goto(f"{site}/storage/?messages=400")
    page.get_by_role("button", name="00000000000000000000.index").first.click()
    expect(page.locator("#file-title")).to_contain_text(".index")
    page.locator(".unit-button").nth(2).click()
    expect(page.locator(".unit-details .field-row")).to_have_count(2)
    assert page.locator(".storage-views a").all_inner_texts() == ["Files", "Find a message", "Page cache"]
    page.get_by_role("link", name="Page cache").click()
    picture = page.locator(".cache-card img[class=in-light]").first
    expect(picture).to_have_js_property("naturalWidth", 480)
    expect(page.locator(".claims")).to_contain_text("Only a server does this")


def test_a_page_elsewhere_holds_a_stage_in_a_frame(site, folder, open_page):
    snippet = f'<iframe src="{site}/lab/three-locks/?embed=1" width="960" height="600"></iframe>'
    (folder.parent / "wiki.html").write_text(f"<!doctype html><link rel=icon href=data:,>{snippet}")
    page = open_page(f"{site.replace('127.0.0.1', 'localhost')}/../wiki.html")
    page.set_default_timeout(STARTED_WITHIN_MS)
    frame = page.frame_locator("iframe")
    frame.locator("#control-step").click()
    expect(frame.locator("#event-number")).to_have_attribute("data-event", "1")
    expect(frame.locator(".page-head")).to_be_hidden()

    snippet = f'<iframe src="{site}/tutorials/04-three-locks/" width="1100" height="800"></iframe>'
    (folder.parent / "wiki.html").write_text(f"<!doctype html><link rel=icon href=data:,>{snippet}")
    page.reload()
    expect(frame.locator(".dots button")).not_to_have_count(0)
    expect(frame.locator("#connection[data-status=live]")).to_be_visible(timeout=STARTED_WITHIN_MS)


def test_an_exported_page_holds_a_stage_or_shows_its_picture(site, open_page, tmp_path):
    moment = apart(key_moment_of, load_scenario("three-locks"))
    for address in (site, "http://127.0.0.1:9"):
        (tmp_path / "live.html").write_text(live_file(moment, address, "en"))
        page = open_page((tmp_path / "live.html").as_uri())
        page.set_default_timeout(STARTED_WITHIN_MS)
        if address == site:
            at = str(moment.event)
            number = page.frame_locator("iframe").locator("#event-number")
            expect(number).to_have_attribute("data-event", at, timeout=STARTED_WITHIN_MS)
        else:
            expect(page.get_by_role("img", name="The broker lock is off")).to_be_visible()
    assert all("net::ERR" in complaint for complaint in open_page.complaints)
    open_page.complaints.clear()


def test_the_other_language_and_the_list_are_one_click_away(site, open_page):
    page = open_page(f"{site}/zh/lab/")
    assert page.locator("html").get_attribute("lang") == "zh-CN"
    page.locator("#language-choice").select_option("en")
    page.wait_for_url(f"{site}/lab/")
    link = page.locator("h3 a[href$='lab/three-locks/']").first
    assert link.evaluate("link => link.href") == f"{site}/lab/three-locks/"


@pytest.mark.parametrize("is_at_root", [False, True])
def test_links_of_a_server_lead_to_pages_of_the_site_in_the_language_of_the_page(request, open_page, is_at_root):
    site = request.getfixturevalue("site_at_root" if is_at_root else "site")
    page = open_page(f"{site}/zh/tutorials/04-three-locks/?step=summary")
    page.set_default_timeout(STARTED_WITHIN_MS)
    page.wait_for_selector("html[data-worker]")
    for link in page.locator(".lesson-panel a[href]:visible").all():
        link.focus()
        link.focus()
        address = link.evaluate("link => link.href")
        assert address.startswith(f"{site}/zh/") and "/zh/zh/" not in address, address
    hrefs = page.locator("a[href]").evaluate_all("links => links.map(({ href }) => href)")
    assert {f"{site}/zh/tutorials/", f"{site}/zh/storage/"} <= set(hrefs)


def test_a_link_leads_to_the_same_moment_on_a_server_and_on_the_site(site, serve, open_page):
    server = serve(empty_scene())
    page = opened(open_page(f"{server}/lab/three-locks"))
    page.set_default_timeout(STARTED_WITHIN_MS)
    run_to_ms(page, 900)
    event = event_number(page)
    on_server = shown(page, event)
    page.goto(f"{site}/lab/three-locks/#{on_server[0]}")
    opened(page)
    assert shown(page, event) == on_server
    page.locator("#control-step").click()
    on_site = shown(page, event + 1)
    page.goto(f"{server}/lab/three-locks#{on_site[0]}")
    opened(page)
    assert shown(page, event + 1) == on_site


@pytest.fixture
def keeping_pages(chromium):
    """A browser that keeps pages which are left, as people's browsers do and those of tests do not."""
    browser = chromium.browser_type.launch(
        executable_path=find_chromium(),
        args=[*LAUNCH_ARGUMENTS, "--enable-features=DeprecateUnload"],
        ignore_default_args=["--disable-back-forward-cache"],
    )
    yield browser
    browser.close()


#: A browser that keeps pages whether they want to hear of their unloading or not.
HEARS_OF_NO_UNLOADING = """
const { addEventListener: add } = EventTarget.prototype;
globalThis.addEventListener = (type, ...others) => type === "unload" || add.call(globalThis, type, ...others);
"""


@pytest.mark.parametrize("is_kept", [False, True])
def test_a_page_that_is_left_ends_its_python_and_is_at_the_same_moment_on_the_way_back(site, keeping_pages, is_kept):
    page = keeping_pages.new_page()
    page.set_default_timeout(STARTED_WITHIN_MS)
    page.add_init_script("addEventListener('pagehide', ({ persisted }) => (sessionStorage.isKept = persisted));")
    if is_kept:
        page.add_init_script(HEARS_OF_NO_UNLOADING)
    page.goto(f"{site}/lab/")
    page.wait_for_selector("html[data-offline=ready]")  # a page that is there before its service worker is not kept
    page.goto(f"{site}/lab/three-locks/")
    opened(page)
    page.locator("#control-step").click()
    there = shown(page, 1)
    (python,) = page.workers
    with python.expect_event("close"):
        page.goto(f"{site}/lab/two-consumers/")
        opened(page)
    assert page.evaluate("sessionStorage.isKept") == str(is_kept).lower()
    page.go_back()
    expect(page).to_have_url(re.compile("three-locks"))
    opened(page)
    assert shown(page, 1) == there
    navigation = page.evaluate("performance.getEntriesByType('navigation')[0].type")
    assert navigation == ("reload" if is_kept else "back_forward")


def test_two_tabs_have_a_world_each_and_a_phone_steps_its_own(site, open_page):
    first = open_page("about:blank")
    phone = first.context.new_page()
    phone.set_viewport_size({"width": 390, "height": 844})
    for page in (first, phone):
        page.set_default_timeout(STARTED_WITHIN_MS)
        page.goto(f"{site}/lab/bank-transaction/")
        opened(page)
    phone.locator("#control-step").click()
    expect_event(phone, 1)
    expect_event(first, 0)


def with_known_worker(open_page, site):
    """A world whose worker the page can send messages."""
    page = open_page("about:blank")
    page.set_default_timeout(STARTED_WITHIN_MS)
    page.add_init_script(KNOWN_WORKER)
    page.goto(f"{site}/lab/three-locks/")
    opened(page)
    return page


def test_a_stream_that_the_lab_ends_begins_again(site, open_page):
    page = with_known_worker(open_page, site)
    statuses = page.evaluate("""() => new Promise((resolve) => {
      const connection = document.querySelector("#connection");
      const seen = [];
      new MutationObserver(() => {
        if (seen.push(connection.dataset.status) > 1 && seen.at(-1) === "live") resolve(seen);
      }).observe(connection, { attributeFilter: ["data-status"] });
      const message = { stream: "stream 1", event: "control", message: "{}" };
      for (let number = 0; number < 1_000; number += 1) worker.postMessage(message);
    })""")
    assert "refused" in statuses
    opened(page)
    page.locator("#control-step").click()
    expect_event(page, 1)
    open_page.complaints.clear()


def test_an_engine_that_has_ended_says_so_answers_no_request_and_begins_again_at_the_same_moment(site, open_page):
    page = with_known_worker(open_page, site)
    page.locator("#control-step").click()
    there = shown(page, 1)
    page.evaluate("""() => {
      worker.postMessage({ stream: "stream 1", event: "control", message: "this is not JSON" });
    }""")
    expect(page.locator(".site-progress")).to_contain_text("The engine in this page has ended")
    expect(page.locator("#connection")).to_have_attribute("data-status", "refused")
    assert "JSON" in ask(page, site, "/api/lessons/progress")["why"]
    page.locator(".site-progress button").click()
    opened(page)
    assert shown(page, 1) == there


def test_a_link_from_a_newer_version_says_so(site, open_page):
    content = {"s": "three-locks", "n": 7, "e": 3, "t": 100, "d": "", "c": [], "y": "what later versions write"}
    link = base64.urlsafe_b64encode(zlib.compress(json.dumps(content).encode())).decode().rstrip("=")
    page = open_page(f"{site}/lab/three-locks/#{link}")
    expect(page.get_by_text("from a newer version of GlassMQ")).to_be_visible(timeout=STARTED_WITHIN_MS)


def test_nobody_is_offered_to_follow_a_world_that_no_other_browser_reaches(site, open_page):
    page = open_page(f"{site}/lab/three-locks/")
    page.set_default_timeout(STARTED_WITHIN_MS)
    opened(page)
    expect(open_share(page).locator("#share-link")).to_be_visible()
    expect(page.locator("#publish")).to_have_count(0)


@pytest.mark.parametrize("missing", ["WebAssembly", "Worker"])
def test_a_browser_without_webassembly_is_told_what_helps_and_sees_a_picture(site, open_page, missing):
    page = open_page("about:blank")
    page.add_init_script(f"delete globalThis.{missing}")
    page.goto(f"{site}/lab/three-locks/")
    expect(page.locator(".site-progress")).to_contain_text("it has no WebAssembly")
    expect(page.locator(".site-progress button")).to_have_text("Load everything again")
    expect(page.get_by_role("img", name="The broker lock is off")).to_be_visible()
