"""The lab's page, looked at closely: bytes of records, the whole journal, settings in place, runs from files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import OpenPage, running
from tests.e2e.lab.lab_page import (
    event_number,
    expect_event,
    open_share,
    opened,
    run_to_ms,
    run_until,
    scrub_to,
    show_panel,
)
from tests.e2e.scenes import empty_scene


@pytest.fixture
def address(serve) -> str:
    return serve(empty_scene())


@pytest.fixture
def page(address, open_page):
    return opened(open_page(f"{address}/lab/hello"))


def expect_whole_record(page: Page, body: str) -> None:
    """The dialog shows a record's fields, and the bytes under them."""
    dialog = page.locator("#record-dialog")
    expect(dialog.locator("[data-field=TOTALSIZE]")).to_be_visible()
    expect(dialog.locator("[data-field=BODY] .field-value")).to_have_text(body)
    expect(dialog.locator(".hex-row").first).to_contain_text("da")
    dialog.locator("[data-field=BODY]").hover()
    expect(dialog.locator(".hex-bytes .byte.is-chosen")).to_have_count(len(body))
    page.keyboard.press("Escape")
    expect(dialog).not_to_be_visible()


# --- bytes ---------------------------------------------------------------------------------------------------------


def test_a_record_opens_down_to_its_bytes_in_the_log_and_in_its_queue(page):
    run_until(page, "sent", node="P1")
    page.locator("[data-node=B1] [data-record]").last.click()
    expect_whole_record(page, "hello number 0")
    page.locator("[data-queue^='Greetings@'] .cell").first.click()
    expect_whole_record(page, "hello number 0")


def test_a_message_of_a_tree_opens_by_keyboard_as_the_record_it_was_pulled_from(address, open_page):
    page = opened(open_page(f"{address}/lab/start-page"))
    run_to_ms(page, 4600)
    page.locator(".tree-drawing").first.focus()
    page.keyboard.press("End")
    expect(page.locator(".tree-cursor")).to_have_count(1)
    page.keyboard.press("Enter")
    expect(page.locator("#actions [data-kind=open]")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#record-dialog h2")).to_contain_text("held by C1, stored at B1")
    expect(page.locator("#record-dialog [data-field=BODY] .field-value")).to_have_text(re.compile(r"order \d+"))


def test_a_record_opens_in_the_past_too(page):
    run_until(page, "sent", node="P1")
    stored = event_number(page)
    run_to_ms(page, 3000)
    scrub_to(page, stored)
    expect(page.locator("#past-banner")).to_be_visible()
    page.locator("[data-node=B1] [data-record]").last.click()
    expect_whole_record(page, "hello number 0")


def test_a_replayed_page_has_the_bytes_and_the_whole_journal(page, open_page, tmp_path):
    run_to_ms(page, 1500)
    last = event_number(page)
    with page.expect_download() as download:
        open_share(page).locator("#export-html").click()
    download.value.save_as(tmp_path / "run.html")
    replay = open_page((tmp_path / "run.html").as_uri())
    expect(replay.locator("#connection")).to_have_attribute("data-status", "recording")
    scrub_to(replay, last)
    replay.locator("[data-node=B1] [data-record]").last.click()
    expect_whole_record(replay, "hello number 0")
    show_panel(replay, "log")
    replay.locator("#log-filter").fill("calls the listener")
    show_panel(replay, "log")
    expect(replay.locator(".log-row")).to_have_count(1)
    show_panel(replay, "settings")
    expect(replay.locator("[data-setting='B1 hold_check_interval_ms']")).to_be_disabled()


# --- journal -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def long_run(chromium) -> Iterator[Page]:
    """A world that has run so fast and far that the stream left a gap."""
    with running(empty_scene()) as address:
        opener = OpenPage(chromium)
        page = opened(opener(f"{address}/lab/big-stage"))
        run_to_ms(page, 6000)
        assert event_number(page) > 4_000
        yield page
        opener.close()


@pytest.fixture
def long_page(long_run) -> Page:
    """The same world; its page has only the newest entries of the journal."""
    long_run.reload()
    page = opened(long_run)
    show_panel(page, "log")
    page.locator(".strip input[type=checkbox]").uncheck()  # also what does not matter
    return page


def test_a_gap_of_the_event_log_is_filled_when_it_comes_in_sight(long_page):
    last = event_number(long_page)
    expect(long_page.locator(".event-log [role=status]")).to_have_text(f"{last:,} events")
    long_page.locator(".log-rows").evaluate("(box) => { box.scrollTop = 0 }")
    first = long_page.locator(".log-row").first
    expect(first).to_have_attribute("data-known", "yes")
    expect(first).to_contain_text("#1")
    expect(first).to_contain_text("starts")


def test_the_filter_of_the_event_log_finds_what_the_page_never_got(long_page):
    long_page.locator("#log-filter").fill("P1/boot")
    expect(long_page.locator(".event-log [role=status]")).to_have_text(re.compile(r"^\d+ events? found$"))
    expect(long_page.locator(".log-row").first).to_contain_text("P1/boot")
    long_page.locator("#log-filter").fill("no such thing anywhere")
    expect(long_page.locator(".event-log")).to_contain_text("No matches")


def test_the_sequence_diagram_asks_for_what_it_shows(long_page):
    with long_page.expect_response(re.compile("/window\\?")) as answer:
        for _ in range(6):
            long_page.get_by_role("button", name="Zoom out", exact=True).click()
    window = answer.value.json()
    assert window["entries"]
    assert window["frames"]


def test_an_event_is_explained_back_to_its_first_cause_across_a_gap(long_page):
    long_page.locator(".log-rows").evaluate("(box) => { box.scrollTop = 0 }")
    expect(long_page.locator(".log-row").first).to_have_attribute("data-known", "yes")
    long_page.locator(".log-row").nth(4).locator("span").last.click()
    expect(long_page.locator("#sequence-chosen")).to_contain_text("#5")


# --- settings ------------------------------------------------------------------------------------------------------


def test_a_setting_is_changed_in_place_and_makes_another_run(page):
    run_to_ms(page, 2000)
    show_panel(page, "settings")
    field = page.locator("[data-setting='C1 rebalance_interval_ms']")
    expect(field).to_have_value("20000")
    field.fill("7000")
    field.press("Enter")
    expect(field).to_have_value("7000")
    expect(page.locator("#virtual-time")).to_contain_text("2.000")
    expect(page.locator("[data-edit='C1 rebalance_interval_ms']").first).to_contain_text("7s")


def test_the_timer_on_the_stage_leads_to_its_editor(page):
    run_to_ms(page, 2000)
    page.locator("[data-node=B1] .part-toggle", has_text="Held pulls").click()
    page.locator("[data-node=B1] [data-edit='B1 hold_check_interval_ms']").click()
    page.locator("#actions [data-kind=setting]").click()
    dialog = page.locator("#setting-dialog")
    expect(dialog).to_contain_text("holdCheckInterval")
    dialog.locator("input").fill("250")
    dialog.locator("button[type=submit]").click()
    expect(dialog).not_to_be_visible()
    expect(page.locator("[data-node=B1] [data-edit='B1 hold_check_interval_ms']")).to_contain_text("250ms")


def test_a_timer_of_the_list_leads_to_its_editor(page):
    run_to_ms(page, 500)
    show_panel(page, "timers")
    page.locator(".timer-row [data-edit='C1 persist_consumer_offset_interval_ms']").first.click()
    expect(page.locator("#setting-dialog")).to_contain_text("persistConsumerOffsetInterval")


def test_a_setting_that_is_changed_in_the_past_forks_there(page):
    run_to_ms(page, 3000)
    scrub_to(page, 120)
    expect(page.locator("#past-banner")).to_be_visible()
    expect(page.locator("#virtual-time")).to_have_text(re.compile("^0\\."))
    past = page.locator("#virtual-time").inner_text()
    show_panel(page, "settings")
    field = page.locator("[data-setting='C1 pull_batch_size']")
    if field.count() == 0:
        page.locator("#settings-filter").fill("pullBatchSize")
    field.fill("1")
    field.press("Enter")
    expect(page.locator("#past-banner")).to_have_count(0)
    expect(field).to_have_value("1")
    expect(page.locator("#virtual-time")).to_have_text(past)


def test_a_value_that_is_not_allowed_is_refused_and_the_old_one_stays(page):
    show_panel(page, "settings")
    page.locator("#settings-filter").fill("message_delay_level")
    field = page.locator("[data-setting='B1 message_delay_level']")
    before = field.input_value()
    field.fill("soon")
    field.press("Enter")
    expect(page.locator("#notice")).to_contain_text("This cannot be done")
    expect(field).to_have_value(before)


def test_what_the_engine_refuses_is_said_in_chinese(address, open_page):
    page = opened(open_page(f"{address}/lab/hello?lang=zh"))
    page.evaluate("""() => import('/static/common/world/session.js').then((lab) => lab.command('crash', 'X9'))""")
    expect(page.locator("#notice")).to_contain_text("无法执行：没有节点 'X9'；现有节点：")


# --- files ---------------------------------------------------------------------------------------------------------


class ExportedRun(NamedTuple):
    """A run as a file, and what its page showed."""

    file: Path
    event: int
    stage: str


@pytest.fixture(scope="module")
def exported(chromium, tmp_path_factory) -> ExportedRun:
    """A run that was broken on the way."""
    with running(empty_scene()) as address:
        opener = OpenPage(chromium)
        page = opened(opener(f"{address}/lab/hello"))
        run_to_ms(page, 1200)
        page.evaluate("() => import('/static/common/world/session.js').then((lab) => lab.command('pause-node', 'C1'))")
        expect(page.locator("[data-node=C1]")).to_have_attribute("data-status", "paused")
        run_to_ms(page, 1900)
        file = tmp_path_factory.mktemp("exported") / "run.json"
        with page.expect_download() as download:
            open_share(page).locator("#export-json").click()
        download.value.save_as(file)
        run = ExportedRun(file, event_number(page), page.locator("#stage").inner_text())
        opener.close()
    return run


def test_an_exported_run_is_imported_from_the_list_in_another_browser(address, open_page, exported):
    other = open_page(f"{address}/lab")
    other.locator("#import-file").set_input_files(exported.file)
    opened(other)
    expect_event(other, exported.event)
    expect(other.locator("[data-node=C1]")).to_have_attribute("data-status", "paused")
    expect(other.locator("#stage")).to_have_text(exported.stage, use_inner_text=True)
    other.locator("#control-step").click()
    expect_event(other, exported.event + 1)


def test_an_exported_run_is_imported_from_the_stage(address, open_page, exported):
    other = opened(open_page(f"{address}/lab/general"))
    open_share(other).locator("#import-file").set_input_files(exported.file)
    expect(other.locator("h1")).to_have_text("The first message")
    expect_event(other, exported.event)


def drop(page: Page, name: str, content: str) -> None:
    """Let a file fall onto the page."""
    page.evaluate(
        """([name, content]) => {
             const data = new DataTransfer();
             data.items.add(new File([content], name));
             const options = { dataTransfer: data, bubbles: true, cancelable: true };
             for (const type of ['dragenter', 'dragover', 'drop'])
               document.body.dispatchEvent(new DragEvent(type, options));
           }""",
        [name, content],
    )


def test_a_file_can_be_dropped_onto_the_list_and_onto_the_stage(address, open_page, exported):
    for start in ("/lab", "/lab/general"):
        other = open_page(f"{address}{start}")
        if start != "/lab":
            opened(other)
        drop(other, "run.json", exported.file.read_text())
        expect(other.locator("h1")).to_have_text("The first message")
        expect_event(other, exported.event)


@pytest.mark.parametrize(("language", "said"), [("en", "This file cannot be imported"), ("zh", "无法导入该文件")])
def test_a_file_that_is_no_run_is_refused_in_the_page_s_language(address, open_page, tmp_path, language, said):
    page = open_page(f"{address}/lab?lang={language}")
    file = tmp_path / "no_run.json"
    file.write_text(json.dumps({"format": "something else"}))
    page.locator("#import-file").set_input_files(file)
    expect(page.locator("#import-problem")).to_contain_text(said)
    assert page.url.split("?")[0].endswith("/lab")
    file.write_text("x" * 200_000)
    page.locator("#import-file").set_input_files(file)
    expect(page.locator("#import-problem")).to_contain_text("60,000")
    open_page.forgive("400")


@pytest.mark.parametrize(
    ("start", "module", "chooser", "answer"),
    [
        ("/lab", "**/lab/list/main.js*", "#import-file", "#import-problem"),
        ("/tutorials", "**/lessons/list.js*", "#progress-file", "#progress-taken"),
    ],
)
def test_a_file_that_was_chosen_before_the_page_s_modules_were_there_is_taken(
    address, open_page, tmp_path, start, module, chooser, answer
):
    page, held = open_page("about:blank"), []

    def hold(route):
        held.append(route)

    page.route(module, hold)
    file = tmp_path / "nothing.json"
    file.write_text(json.dumps({"format": "something else"}))
    with page.expect_request(module):
        page.goto(f"{address}{start}", wait_until="commit")
        page.locator(chooser).set_input_files(file)
    expect(page.locator(answer)).to_be_empty()
    held[0].continue_()
    expect(page.locator(answer)).not_to_be_empty()
    open_page.forgive("400")


def test_the_list_begins_with_what_a_beginner_needs(address, open_page):
    page = open_page(f"{address}/lab")
    expect(page.locator(".scenario h3").first).to_have_text("The first message")
    page.locator(".scenario summary").first.click()
    expect(page.locator(".scenario").first.locator(".scenario-try")).to_contain_text("Press step")
    expect(page.locator(".scenario", has_text="A full stage")).to_have_count(1)
    expect(page.locator(".shelf > h2").first).to_have_text("Basics and crashes")


def test_an_offset_that_has_no_room_says_that_digits_are_left_out_in_front(serve, open_page):
    page = opened(open_page(f"{serve(empty_scene())}/lab/hello"))
    short = "async (offsets) => { const { shortOffset } = await import('/static/common/world/format.js');"
    short += " return offsets.map((one) => shortOffset(one)); }"
    assert page.evaluate(short, [7, 999, 2741, 12741, 1_000_041]) == ["7", "999", "2741", "…741", "…041"]
