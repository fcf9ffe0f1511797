"""A Raft group on the stage: who leads, whose log says what, and why the others do not lead."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.e2e.accessibility import findings_in_every_theme
from tests.e2e.lab.lab_page import open_faults, opened, run_to_ms
from tests.e2e.scenes import empty_scene


def test_two_leaders_of_different_terms_and_the_logs_of_both(serve, open_page):
    page = opened(open_page(f"{serve(empty_scene())}/lab/split-brain", reduced_motion="reduce"))
    run_to_ms(page, 3_000)
    expect(page.locator("[data-node=R5] [data-office=leader]")).to_contain_text("term 1")
    expect(page.locator("[data-node=R1] [data-office=leader]")).to_contain_text("term 2")
    expect(page.locator("[data-node=R5] .raft-entry.is-open").last).to_contain_text("1")
    expect(page.locator("[data-node=R2] [data-obstacle=follows]")).to_have_text(
        "Follows R1: no reason to start an election."
    )
    outlook = page.locator("[data-obstacle=outlook]")
    expect(outlook).to_have_text("Cannot win now: newer logs at R1, R2, R3.")  # R4 is cut off, its log too short
    caption = page.locator(".moment-text").bounding_box()
    for name in ("R1", "R2", "R3", "R4", "R5"):
        card = page.locator(f"[data-node={name}]").bounding_box()
        assert card["y"] + card["height"] <= caption["y"], f"{name} is not hidden by the caption"
    expect(page.locator("[data-node=C1] .chip-flying")).to_contain_text("left-7")
    assert findings_in_every_theme(page) == []
    run_to_ms(page, 5_500)
    expect(page.locator("[data-office=leader]")).to_have_count(1)


def test_a_dead_peers_log_stays_in_view_in_chinese(serve, open_page):
    page = opened(open_page(f"{serve(empty_scene())}/lab/majority-log?lang=zh", reduced_motion="reduce"))
    run_to_ms(page, 4_800)
    expect(page.locator("[data-node=R1] .raft-entry").last).to_contain_text("16")
    log, newest = (page.locator(f"[data-node=R1] .{name}").last.bounding_box() for name in ("raft-log", "raft-entry"))
    assert newest["x"] + newest["width"] <= log["x"] + log["width"], "the newest entry is in view"
    expect(page.locator("[data-node=R3] [data-obstacle=silent]")).to_contain_text("R1, R2")
    expect(page.locator("#why-key")).to_have_count(0)  # nobody consumes: how a message came needs no explanation
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_what_raftscope_can_do_is_a_click_away(serve, open_page):
    page = opened(open_page(f"{serve(empty_scene())}/lab/majority-log", reduced_motion="reduce"))
    run_to_ms(page, 1_000)
    open_faults(page, "R2")
    offered = set(
        page.locator("#actions [data-kind]").evaluate_all("actions => actions.map(action => action.dataset.kind)")
    )
    assert {"time-out", "crash", "crash-power", "pause-node", "slow-fsync", "change-membership"} <= offered
    assert "restart" not in offered, "who runs cannot be started"
    page.locator("#actions [data-kind=time-out]").click()
    run_to_ms(page, 1_001)
    expect(page.locator("[data-node=R2] [data-office]")).to_contain_text("pre-candidate")
    open_faults(page, "R1")
    page.locator("#actions [data-kind=crash]").click()
    expect(page.locator("[data-node=R1]")).to_have_attribute("data-status", "crashed")
    open_faults(page, "R1")
    page.locator("#actions [data-kind=restart]").click()
    run_to_ms(page, 1_050)
    expect(page.locator("[data-node=R1] [data-office]")).to_contain_text("follower")


def test_many_frames_of_one_name_on_one_way_say_it_once(serve, open_page):
    page = opened(open_page(f"{serve(empty_scene())}/lab/async-master-loses", reduced_motion="reduce"))
    run_to_ms(page, 5_190)
    assert page.locator(".flights [aria-label*=HA_PIECE]").count() > 5
    expect(page.locator(".flights .frame-name", has_text="ha piece")).to_have_count(1)
