"""The pipeline's page: a job is asked for, runs, is seen on the lanes, stops; and nothing for axe-core to find."""

from __future__ import annotations

import re
import sys
import threading

import pytest
from playwright.sync_api import expect

from app.pipeline.host import PipelineSettings
from engine.pipeline.jobs import registry
from tests.e2e.accessibility import findings_in_every_theme
from tests.e2e.lab.lab_page import event_number, expect_event, opened, run_to_ms
from tests.e2e.scenes import empty_scene, serve_scene, small_scene
from tests.support.pipeline import tiny_job

FAKE = (sys.executable, "-m", "tests.support.pipeline.fake_job")


@pytest.fixture
def address(tmp_path, monkeypatch):
    """Where a page server answers whose jobs are played by tests/support/pipeline/fake_job.py."""
    monkeypatch.setattr(registry, "JOB_NAMES", registry.JOB_NAMES)  # restored in the end
    tiny_job.register()
    settings = PipelineSettings(tmp_path / "pipeline", "127.0.0.1:1", command=FAKE, niceness=0)
    listener, server = serve_scene(small_scene(lively=False), pipeline=settings)
    server.stream.start()
    server.pipeline_stream.start()
    thread = threading.Thread(target=listener.serve_forever, daemon=True)
    thread.start()
    yield f"http://{listener.bound_address}"
    server.pipeline.close()
    server.pipeline_stream.stop()
    server.stream.stop()
    listener.shutdown()
    thread.join(timeout=10)


def start(page):
    page.get_by_role("button", name="Start").click()


def test_a_job_is_started_watched_and_stopped(address, open_page):
    page = open_page(f"{address}/pipeline#tiny")
    expect(page.locator("#job-choice")).to_have_value("tiny")
    expect(page.locator("#field-topic-names option[value=orders]")).to_have_count(1)
    expect(page.locator("#field-group-help")).to_have_text("A group.")
    expect(page.locator("#field-pause_ms-help")).to_contain_text("How long. Such as 500ms")
    assert findings_in_every_theme(page) == []
    page.locator(".advanced summary").click()
    assert findings_in_every_theme(page) == []
    page.locator("#field-follow").check()
    start(page)
    run = page.locator(".run[data-phase=running]")
    expect(run).to_be_visible()
    expect(page.locator("[data-table=counts] .is-bad .bad-sign")).to_have_count(2)
    expect(page.locator(".plot canvas")).to_have_count(3)
    expect(page.locator(".plots").first).to_have_css("display", "grid")
    plot, table = page.locator(".plots").first.bounding_box(), page.locator("[data-table=counts]").bounding_box()
    assert plot["y"] < table["y"], "charts come before tables"
    expect(page.locator(".spark-lanes .lane")).to_have_count(4)
    expect(page.locator(".spark-lanes [data-queue='orders@0'] .lane-drawing .spark-mark")).to_have_count(1)

    live = open_page(f"{address}/live")
    expect(live.locator("[data-queue='orders@1'] .lane-drawing .spark-mark")).to_have_count(1)
    expect(live.locator(".lane-legend .spark-mark")).to_be_visible()
    lags = live.locator("[data-queue='orders@2'] .lane-lags")
    assert lags.evaluate("cell => cell.scrollWidth <= cell.clientWidth"), "two groups and Spark have room"

    page.get_by_role("button", name="Stop").click()
    expect(page.locator(".run[data-phase=stopped]")).to_be_visible()
    expect(live.locator(".spark-mark")).to_have_count(0)
    assert findings_in_every_theme(page) == []
    page.get_by_role("link", name="Run again").click()
    expect(page.locator("#field-follow")).to_be_checked()


def test_what_is_refused_or_fails_is_said_where_one_looks(address, open_page):
    page = open_page(f"{address}/pipeline?lang=zh#tiny", viewport={"width": 1024, "height": 768})
    page.locator(".advanced summary").click()
    page.locator("#field-pause_ms").fill("1ms")
    page.locator("#field-way").select_option("fail")
    page.get_by_role("button", name="启动").click()
    expect(page.locator("#field-pause_ms-problem")).to_have_text(re.compile("^不能是 1；允许：10 到 .* 毫秒的时长"))
    expect(page.locator("#field-pause_ms")).to_be_focused()
    assert findings_in_every_theme(page) == []
    page.locator("#field-pause_ms").fill("")
    page.keyboard.press("Enter")
    failure = page.locator(".run[data-phase=failed] .run-error-text")
    expect(failure.first).to_have_text("集群中没有这个主题（主题 orders）。")
    expect(failure.last).to_contain_text("ROCKETMQ_UNKNOWN_TOPIC")
    assert findings_in_every_theme(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    open_page.forgive("400")


def test_words_of_a_job_are_shown_in_the_language_of_the_page(address, open_page):
    page = open_page(f"{address}/pipeline?lang=zh#tiny")
    page.get_by_role("button", name="启动").click()
    cells = page.locator("[data-table=counts] tbody tr td:nth-child(2)")
    expect(cells).to_have_text(["途中丢失", "中文twice", "in order"])
    expect(page.locator(".plot-legend")).to_contain_text(["全部"])


def focused(page, text):
    """Wait until the element with the focus says ``text``."""
    page.wait_for_function("text => document.activeElement.textContent.includes(text)", arg=text)


def test_the_keyboard_is_enough(address, open_page):
    page = open_page(f"{address}/pipeline#tiny")
    page.locator(".advanced summary").focus()
    page.keyboard.press("Enter")
    page.locator("#field-follow").focus()
    page.keyboard.press("Space")
    page.locator(".advanced summary").focus()
    page.keyboard.press("Shift+Tab")
    focused(page, "Start")
    page.keyboard.press("Enter")
    expect(page.locator(".run[data-phase=running]")).to_be_visible()
    focused(page, "Tiny")
    page.keyboard.press("Tab")
    focused(page, "Stop")
    page.keyboard.press("Space")
    expect(page.locator(".run[data-phase=stopped]")).to_be_visible()
    focused(page, "Tiny")
    page.locator(".skip-link").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()
    expect(page.locator(".run")).to_be_visible()


@pytest.mark.parametrize("size", [(1440, 900), (1024, 768), (390, 844)])
def test_job_source_and_start_are_all_that_one_sees_first(address, open_page, size):
    page = open_page(f"{address}/pipeline#tiny", viewport={"width": size[0], "height": size[1]})
    for field in ("#job-choice", "#field-topic", ".start-button"):
        expect(page.locator(field)).to_be_in_viewport(ratio=1)
    expect(page.locator("#field-numbers")).to_be_hidden()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.locator(".advanced summary").click()
    expect(page.locator("#field-numbers")).to_be_visible()
    page.wait_for_function("() => localStorage.getItem('glassmq.pipeline.advanced') === 'yes'")
    page.reload()
    expect(page.locator("#field-numbers")).to_be_visible()


def test_a_refused_field_comes_into_view_though_it_was_folded_away(address, open_page):
    page = open_page(f"{address}/pipeline#tiny")
    page.locator(".advanced summary").click()
    page.locator("#field-pause_ms").fill("1ms")
    page.locator(".advanced summary").click()
    start(page)
    expect(page.locator("#field-pause_ms")).to_be_focused()
    open_page.forgive("400")


def test_a_run_says_from_its_beginning_at_which_step_it_is(address, open_page):
    page = open_page(f"{address}/pipeline#tiny")
    expect(page.locator("#job-choice")).to_be_visible()
    page.evaluate(
        """async () => {
             const { receiveRuns } = await import("/static/pipeline/runs.js");
             const empty = { arguments: {}, progress: {}, tables: {}, plots: {}, reached: {}, batches: [], notes: [] };
             const begun = { is_whole: true, batch_count: 0, started_us: (Date.now() - 30_000) * 1000 };
             const run = { ...empty, ...begun, id: "r", job: "tiny" };
             let told;
             window.tell = (news) => receiveRuns((told = { runs: { r: { ...run, ...news } }, order: ["r"] }));
             setInterval(() => receiveRuns(told), 50);  // the server's own first news may come later
             location.hash = "run-r";
             tell({ phase: "starting", running_us: null });
           }"""
    )
    step = page.locator(".run-step[aria-current=step]")
    expect(step).to_contain_text(re.compile(r"Starting Java\s*3\d s"))
    page.evaluate("tell({ phase: 'running', running_us: (Date.now() - 20_000) * 1000 })")
    expect(step).to_contain_text("Planning")
    progress = "{ messages: { done: 200, total: 400 } }"
    page.evaluate(f"tell({{ phase: 'running', running_us: (Date.now() - 20_000) * 1000, progress: {progress} }})")
    expect(step).to_contain_text("Reading")
    expect(page.locator(".run-done")).to_contain_text("50 % · 200 of 400 messages · 10/s · about 20 s left")


def test_an_address_in_a_result_is_a_link_and_nothing_else_is(address, open_page):
    page = open_page(f"{address}/pipeline#tiny")
    expect(page.locator(".job-form")).to_be_visible()
    cells = ["/lab/hello#abc", "https://example.org/lab/hello", "//example.org/x", "javascript:alert(1)"]
    links = page.evaluate(
        """async (cells) => {
             const { html, render } = await import("htm/preact");
             const { ResultTable } = await import("/static/pipeline/result_table.js");
             const title = { en: "Replay", zh: "回放" };
             const table = { name: "t", title, columns: [{ name: "link", kind: "link", title, cell_texts: {} }] };
             const result = { rows: cells.map((cell) => [cell]), left_out: 0 };
             const place = document.body.appendChild(document.createElement("div"));
             render(html`<${ResultTable} table=${table} result=${result} />`, place);
             const links = [...place.querySelectorAll("td")].map((cell) => cell.querySelector("a"));
             return links.map((link) => link?.getAttribute("href") ?? null);
           }""",
        cells,
    )
    assert links == [*cells[:2], None, None]


def test_an_old_run_that_failed_is_asked_for_once_and_shown_whole(address, open_page):
    page = open_page(f"{address}/pipeline#tiny")
    expect(page.locator(".job-form")).to_be_visible()
    asked = page.evaluate(
        """async () => {
             const { receiveRuns, runById } = await import("/static/pipeline/runs.js");
             const run = { id: "old", job: "tiny", phase: "failed", error: "a text", is_whole: false, arguments: {} };
             const whole = { progress: {}, tables: {}, plots: {}, batches: [], notes: [], reached: {} };
             let asked = 0;
             window.fetch = async () => (asked++, Response.json({ ...run, ...whole, is_whole: true }));
             location.hash = "run-old";
             receiveRuns({ runs: { old: run }, order: ["old"] });
             for (let i = 0; i < 500 && !runById("old")?.is_whole; i++) await new Promise((go) => setTimeout(go, 10));
             receiveRuns({ runs: { old: { ...run } }, order: ["old"] });
             return asked;
           }"""
    )
    assert asked == 1
    expect(page.locator(".run[data-phase=failed]")).to_be_visible()


def test_a_page_without_pipeline_says_so(serve, open_page):
    page = open_page(f"{serve(empty_scene())}/pipeline#traffic")
    expect(page.locator(".pipeline-problem").first).to_contain_text("--no-pipeline")
    expect(page.get_by_role("button", name="Start")).to_be_disabled()
    assert findings_in_every_theme(page) == []


def test_a_run_of_the_lab_is_audited_and_its_page_leads_back(address, open_page):
    page = opened(open_page(f"{address}/lab/15-auditing-with-spark"))
    run_to_ms(page, 30_000)
    page.locator("#tab-invariants").click()
    audit = page.locator("#audit")
    audit.click()
    dialog = page.locator("#audit-dialog")
    expect(dialog).to_contain_text("billing@Orders, shipping@Orders")
    assert findings_in_every_theme(page) == []
    event = event_number(page)
    dialog.get_by_role("button", name="Start the audit").press("Enter")
    to_the_run = dialog.get_by_role("link", name="Open it on the Pipeline page")
    expect(to_the_run).to_be_focused()
    page.keyboard.press("Escape")
    page.locator("#control-back").click()
    expect_event(page, event - 1)
    audit.click()
    expect(dialog.get_by_role("button", name="Start the audit")).to_be_visible()
    to_the_run.click()
    run = page.locator(".run[data-phase=ended]")
    expect(run).to_contain_text("Delivery audit")
    expect(run).to_contain_text("/pipeline/lab/15-auditing-with-spark-")
    run.get_by_role("link", name="back to the run").click()
    expect_event(opened(page), event)
    expect(page.locator("#virtual-time")).to_contain_text("30.000")
    page.wait_for_url(lambda url: "exact" not in url)


def test_a_run_without_numbers_is_made_ready_for_its_audit(address, open_page):
    page = opened(open_page(f"{address}/lab/hello?lang=zh"))
    run_to_ms(page, 2_000)
    page.locator("#tab-invariants").click()
    page.locator("#audit").click()
    dialog = page.locator("#audit-dialog")
    expect(dialog).to_contain_text("没有生产者为消息编号")
    expect(dialog.locator("#audit-start")).to_have_count(0)
    dialog.get_by_role("button", name="P1 number_messages").click()
    page.locator("#setting-dialog input[type=checkbox]").check()
    page.locator("#setting-dialog button[type=submit]").click()
    expect(dialog.locator("#audit-start")).to_be_enabled()
    expect(dialog.get_by_role("button", name="C1 enable_msg_trace")).to_be_visible()


@pytest.mark.parametrize(
    ("language", "words"), [("en", "Choose at least one topic first."), ("zh", "请先选择至少一个主题。")]
)
@pytest.mark.parametrize("job", ["traffic", "delivery-audit"])
def test_start_waits_for_a_topic_and_says_so(address, open_page, job, language, words):
    page = open_page(f"{address}/pipeline?lang={language}#{job}")
    expect(page.locator(".start-button")).to_be_disabled()
    expect(page.locator(".start-button")).to_have_accessible_description(words)
    page.get_by_role("button", name="payments").click()
    expect(page.locator(".start-button")).to_be_enabled()
    expect(page.locator("#start-hint")).not_to_have_text(words)
    page.locator("#field-topics").fill(" ")
    expect(page.locator(".start-button")).to_be_disabled()


def test_an_audit_of_files_needs_no_topic(address, open_page):
    page = open_page(f"{address}/pipeline#delivery-audit")
    page.locator(".advanced summary").click()
    page.locator("#field-input_folder").fill("archive")
    expect(page.locator(".start-button")).to_be_enabled()
