"""The page cache on a broker's card: pages by shape, the arm's way, and what an administrator can do about it."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.e2e.accessibility import findings_in_every_theme
from tests.e2e.lab.lab_page import open_faults, opened, run_to_ms
from tests.e2e.scenes import empty_scene


def test_pages_and_the_arm_are_drawn_and_dropped_caches_are_seen(serve, open_page):
    page = opened(open_page(f"{serve(empty_scene())}/lab/page-cache", reduced_motion="reduce"))
    run_to_ms(page, 10_390)
    log = page.locator('#node-B1 [data-file^="commitlog"] .pages')
    clean = log.locator(".is-clean").count()
    assert clean > 0
    assert log.locator(".is-dirty").count() >= 4
    expect(log).to_have_attribute(
        "aria-label", f"Pages of commitlog/…0: {log.locator('.is-dirty').count()} dirty, {clean} clean"
    )
    assert page.locator("#node-B2 .arm-mark.is-write").count() > page.locator("#node-B1 .arm-mark.is-write").count()
    assert findings_in_every_theme(page, "#node-B1") == []
    open_faults(page, "B1")
    page.locator("#actions [data-kind=drop-caches]").click()
    expect(log.locator(".is-evicted")).to_have_count(clean)


def test_a_broker_whose_memory_has_no_end_has_no_map_and_no_caches_to_drop(serve, open_page):
    page = opened(open_page(f"{serve(empty_scene())}/lab/hello", reduced_motion="reduce"))
    run_to_ms(page, 1_000)
    assert page.locator(".page-cache").count() == 0
    open_faults(page, "B1")
    expect(page.locator("#actions [data-kind=crash]")).to_be_visible()
    assert page.locator("#actions [data-kind=drop-caches]").count() == 0
