"""The stage of a lesson: the caption has its own place, letters can be read, "Show me" says what to look for."""

from __future__ import annotations

import pytest
from playwright.sync_api import TimeoutError as NotInTime
from playwright.sync_api import expect

from tests.e2e.lesson_page import do_it, go_to, lesson, lesson_data
from tests.e2e.scenes import empty_scene
from tests.support.tiers import sampled

#: Many nodes, or many logs.
FULL_STAGES = (
    "19-idempotence-five-ways",
    "22-commit-log-and-partition-log",
    "26-majority-and-election",
    "27-in-sync-replicas",
)
LETTERS_LEAST_PX = 11

#: Letters that are too small to be read; targets of the step that are cut off or under the caption.
FAULTS = """async (targets) => {
  const { elementOf } = await import('/static/lessons/targets.js');
  const stage = document.getElementById('stage');
  const frame = stage.getBoundingClientRect();
  const caption = document.querySelector('.moment-text')?.getBoundingClientRect() ?? new DOMRect(); // it fades
  const faults = [];
  const letters = document.createTreeWalker(stage, NodeFilter.SHOW_TEXT);
  while (letters.nextNode()) {
    const { data, parentElement: element } = letters.currentNode;
    const range = document.createRange();
    range.selectNodeContents(letters.currentNode);
    const box = range.getBoundingClientRect();
    if (!data.trim() || box.width === 0 || element.closest('.sr-only')) continue;
    const inner = element.closest('.lab-stage-inner');
    const scale = inner.getBoundingClientRect().width / inner.offsetWidth;
    const px = parseFloat(getComputedStyle(element).fontSize) * scale;
    if (px < LEAST - 0.01) faults.push(`${data.trim()}: ${px.toFixed(1)} px`);
  }
  const found = targets.filter((target) => elementOf(target));
  for (const target of found) {
    const box = elementOf(target).getBoundingClientRect();
    if (box.bottom > frame.bottom + 1 || box.right > frame.right + 1) faults.push(`${target}: is cut off`);
    if (box.bottom > caption.top && box.top < caption.bottom && box.right > caption.left && box.left < caption.right)
      faults.push(`${target}: is under the caption`);
  }
  return found.length > 0 ? faults : ['none of the targets is there'];
}""".replace("LEAST", str(LETTERS_LEAST_PX))


@pytest.mark.parametrize("name", sampled(FULL_STAGES, every=3))
def test_letters_can_be_read_and_the_caption_covers_nothing_that_a_step_points_at(serve, open_page, name):
    page = lesson(open_page(f"{serve(empty_scene())}/tutorials/{name}", reduced_motion="reduce"))
    for number, step in enumerate(lesson_data(page)["steps"], 1):
        go_to(page, number)
        if step["predict"]:
            page.locator("#skip-prediction").click()
        if step["action"]:
            do_it(page)
        on_stage = [target for target in step["point_at"] if not target.startswith("panel")]
        if on_stage:
            faults = f"async (targets) => await ({FAULTS})(targets)"
            try:
                page.wait_for_function(f"async (targets) => (await ({FAULTS})(targets)).length === 0", arg=on_stage)
            except NotInTime:
                pytest.fail(f"{step['id']}: {page.evaluate(faults, on_stage)}")
        if step["point_at"]:
            page.locator("#show-me").click()
            hint = page.locator(".driver-popover-description")
            expect(hint).to_have_text(step["look_for"][step["point_at"][0]]["en"])
            page.keyboard.press("Escape")
            expect(hint).to_have_count(0)


def test_the_panels_below_a_full_stage_come_when_one_is_chosen_and_stay(serve, open_page):
    page = lesson(open_page(f"{serve(empty_scene())}/tutorials/27-in-sync-replicas?step=follow"))
    expect(page.locator(".dock")).to_have_attribute("data-open", "no")
    page.locator("#tab-invariants").click()
    expect(page.locator("#panel-invariants")).to_be_visible()
    page.locator("#skip-prediction").click()
    page.locator("#do-it").click()
    page.locator("#skip-replay").click()
    expect(page.locator("#result")).to_be_visible()
    expect(page.locator("#panel-invariants")).to_be_visible()
    page.locator("#dock-toggle").click()
    expect(page.locator(".dock")).to_have_attribute("data-open", "no")


def test_the_caption_fades_when_the_world_rests_and_a_thing_without_a_hint_says_what_it_is(serve, open_page):
    page = lesson(open_page(f"{serve(empty_scene())}/tutorials/07-half-messages?step=stored", reduced_motion="reduce"))
    page.locator("#skip-prediction").click()
    do_it(page)
    expect(page.locator(".moment-text")).to_be_visible()
    page.locator("#show-me").click()
    expect(page.locator(".driver-popover-description")).not_to_be_empty()
    page.keyboard.press("Escape")
    expect(page.locator(".moment-text")).to_be_hidden()
