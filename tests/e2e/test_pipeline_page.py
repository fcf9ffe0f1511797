"""The pipeline's page: a job is asked for, runs, is seen on the lanes, stops; and nothing for axe-core to find."""

from __future__ import annotations

import sys
import threading

import pytest
from playwright.sync_api import expect

from app.pipeline.host import PipelineSettings
from engine.pipeline.jobs import registry
from tests.e2e.accessibility import findings_in_every_theme
from tests.e2e.scenes import empty_scene, serve_scene, small_scene
from tests.support import tiny_job

pytestmark = pytest.mark.browser

FAKE = (sys.executable, "-m", "tests.support.fake_job")


@pytest.fixture
def address(tmp_path, monkeypatch):
    """Where a page server answers whose jobs are played by tests/support/fake_job.py."""
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
    expect(page.locator(".job[aria-current]")).to_contain_text("Tiny")
    expect(page.locator("#field-topic-names option[value=orders]")).to_have_count(1)
    expect(page.locator("#field-group-help")).to_have_text("A group.")
    expect(page.locator("#field-pause_ms-help")).to_contain_text("How long. Such as 500ms")
    assert findings_in_every_theme(page) == []
    page.locator("#field-follow").check()
    start(page)
    run = page.locator(".run[data-phase=running]")
    expect(run).to_be_visible()
    expect(page.locator("[data-table=counts] .is-bad .bad-sign")).to_have_count(2)
    expect(page.locator(".plot canvas")).to_have_count(3)
    expect(page.locator(".spark-lanes .lane")).to_have_count(4)
    expect(page.locator(".spark-lanes [data-queue='orders@0'] .lane-drawing .spark-mark")).to_have_count(1)

    live = open_page(f"{address}/live")
    expect(live.locator("[data-queue='orders@1'] .lane-drawing .spark-mark")).to_have_count(1)
    expect(live.locator(".lane-legend .spark-mark")).to_be_visible()

    page.get_by_role("button", name="Stop").click()
    expect(page.locator(".run[data-phase=stopped]")).to_be_visible()
    expect(live.locator(".spark-mark")).to_have_count(0)
    assert findings_in_every_theme(page) == []
    page.get_by_role("link", name="Run again").click()
    expect(page.locator("#field-follow")).to_be_checked()


def test_what_is_refused_or_fails_is_said_where_one_looks(address, open_page):
    page = open_page(f"{address}/pipeline?lang=zh#tiny", viewport={"width": 1024, "height": 768})
    page.locator("#field-pause_ms").fill("1ms")
    page.locator("#field-way").select_option("fail")
    page.get_by_role("button", name="启动").click()
    expect(page.locator("#field-pause_ms-problem")).to_have_text("1 超出范围；允许 10 毫秒 及以上")
    expect(page.locator("#field-pause_ms")).to_be_focused()
    assert findings_in_every_theme(page) == []
    page.locator("#field-pause_ms").fill("")
    page.keyboard.press("Enter")
    expect(page.locator(".run[data-phase=failed] .run-error-text")).to_contain_text("ROCKETMQ_UNKNOWN_TOPIC")
    assert findings_in_every_theme(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    open_page.complaints[:] = [text for text in open_page.complaints if "400" not in text]


def test_a_page_without_pipeline_says_so(serve, open_page):
    page = open_page(f"{serve(empty_scene())}/pipeline#traffic")
    expect(page.locator(".pipeline-problem").first).to_contain_text("--no-pipeline")
    expect(page.get_by_role("button", name="Start")).to_be_disabled()
    assert findings_in_every_theme(page) == []
