"""The presentation mode and the projector's theme: a stage in letters that are read from the last row."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from playwright.sync_api import Page, expect

from app.lessons.lesson_files import lesson_names
from engine.lab.run.key_moment import key_moment_of
from engine.lab.scenario.scenario_files import load_scenario, shelved_scenario_names
from engine.texts import LANGUAGES
from tests.e2e.lab.lab_page import expect_event
from tests.e2e.lesson_page import lesson_data
from tests.e2e.letters import letters
from tests.e2e.scenes import empty_scene
from tests.support.tiers import sampled

PHONE = {"width": 390, "height": 844}
#: Width, height, and the least size of letters on the stage, in pixels.
WINDOWS = ((1024, 768, 16), (1920, 1080, 20))
FAULTS = """async () => {
    const { acting } = await import('/static/parts/stage/acting.js');
    const faults = [];
    const boxOf = (selector) => document.querySelector(selector).getBoundingClientRect();
    const [stage, caption] = [boxOf('#stage'), boxOf('.moment')];
    if (stage.bottom > caption.top + 1) faults.push('the caption is on the stage');
    for (const each of document.querySelectorAll('.controls-bar :is(button, select, input, .clock), .map-tools > *')) {
        const box = each.getBoundingClientRect();
        const isCut = box.left < 0 || box.top < 0 || box.right > innerWidth + 1 || box.bottom > innerHeight + 1;
        if (box.width && isCut) faults.push(`${each.id || each.className} is cut`);
        if (each.scrollWidth > each.clientWidth + 1 && !each.matches('.ellipsis, .clock, input, select'))
            faults.push(`${each.id || each.className} is too narrow`);
    }
    const head = document.querySelector(`[data-anchor="${acting.value}"]`)?.getBoundingClientRect();
    const tools = boxOf('.map-tools');
    const [left, right] = [head?.left < -1, head?.left > innerWidth - 100];
    if (head && (head.top < tools.bottom - 1 || head.bottom > stage.bottom + 1 || left || right))
        faults.push(`${acting.value}, which acts, is out of sight`);
    return faults;
}"""
#: Texts of the stage that end in an ellipsis or at an edge.
CUT = """() => [...document.querySelectorAll('#stage *')]
    .filter((each) => each.scrollWidth > each.clientWidth + 1 && getComputedStyle(each).overflowX !== 'visible')
    .filter((each) => each.offsetWidth && !each.matches('.sr-only') && each.innerText?.trim())
    .map((each) => `${each.innerText} in ${each.className}`)"""
#: Texts that leave the card that they are of.
OUTSIDE = """() => [...document.querySelectorAll('#stage .node :not(svg *)')]
    .filter((each) => each.offsetWidth && !each.matches('.sr-only') && each.innerText?.trim())
    .filter((each) => each.getBoundingClientRect().right > each.closest('.node').getBoundingClientRect().right + 1)
    .map((each) => `${each.innerText} in ${each.className}`)"""
#: The densest layout with the consumers below each other.
WIDE_BROKER = """() => {
    const inner = document.querySelector('.lab-stage-inner');
    inner.dataset.density = 3;
    inner.style.setProperty('--consumer-columns', 1);
}"""
STANDS = """async () => {
    const { view } = await import('/static/common/world/view.js');
    return view.peek().busy === null && view.peek().event > 0;
}"""
#: To where something is on the stage, without playing it.
RUN = """async () => {
    const { runUntil } = await import('/static/common/world/session.js');
    const { view } = await import('/static/common/world/view.js');
    const { duration_us: duration } = view.peek();
    runUntil({ on: 'time', time_us: Math.round(duration * 0.6) });
    const stands = ({ busy, event, time_us: now, stopped_by: stop }) =>
        busy === null && event > 0 && (now >= duration * 0.59 || stop !== null);
    while (!stands(view.peek())) await new Promise((wake) => setTimeout(wake, 30));
}"""
#: The stage is laid out again at most four times a second (FIT_EVERY_MS in map.js), and once more for what that
#: changes: it stands when it is the same after a longer time.
SETTLE = """async () => {
    const { stageScale } = await import('/static/parts/stage/folding.js');
    const inner = document.querySelector('.lab-stage-inner');
    const state = () => `${inner.style.cssText} ${inner.dataset.density} ${inner.innerText.length} ${stageScale.value}`;
    for (let [last, now] = ['', state()]; now !== last; [last, now] = [now, state()]) {
        await new Promise((wake) => setTimeout(wake, 300));
        await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
    }
}"""


def shown(page: Page) -> Page:
    """Wait until the world of a presentation is there."""
    page.wait_for_selector("#connection[data-status=live]", state="attached")
    page.wait_for_selector("#stage .node")
    return page


def faults_of(page: Page) -> list[str]:
    """What cannot be read, or is cut or covered, in each of the windows."""
    found = []
    for width, height, least in WINDOWS:
        page.set_viewport_size({"width": width, "height": height})
        page.evaluate(SETTLE)
        size, text = letters(page)
        where = f"{page.url.rpartition('/')[2].partition('?')[0]} at {width}x{height}"
        found += [f"{where}: {text} has {size} px"] if size < least else []
        found += [f"{where}: {fault}" for fault in page.evaluate(FAULTS)]
    return found


@pytest.mark.parametrize("shelf", sampled(shelved_scenario_names()))
def test_every_scenario_is_readable_and_nothing_is_cut(serve, open_page, shelf):
    address, page, found = serve(empty_scene()), None, []
    for name in shelved_scenario_names()[shelf]:
        target = f"{address}/lab/{name}?present=1"
        if page is None:
            page = open_page(target, reduced_motion="reduce")
        else:
            page.goto(target)
        shown(page).evaluate(RUN)
        found += faults_of(page)
    assert found == []


@pytest.mark.parametrize("third", [0, *(pytest.param(third, marks=pytest.mark.further) for third in (1, 2))])
def test_every_lesson_is_readable_and_nothing_is_cut(serve, open_page, third):
    """At its last step, when the most is on the stage."""
    address, page, found = serve(empty_scene()), None, []
    for name in lesson_names()[third::3]:
        target = f"{address}/tutorials/{name}?present=1"
        page = page or open_page(target, reduced_motion="reduce")
        page.goto(target)
        steps = lesson_data(shown(page))["steps"]
        page.goto(f"{target}&step={steps[-1]['id']}")
        shown(page).wait_for_function(
            """async (last) => {
                const { acting, readyFor } = await import('/static/lessons/world.js');
                return readyFor.value === last && acting.value === null;
            }""",
            arg=len(steps) - 1,
        )
        found += faults_of(page)
    assert found == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_label_is_cut_in_lesson_4_and_at_the_key_moments_of_scenarios(serve, open_page, language):
    names = ("three-locks", "bank-transaction", "retry-to-dead-letter")
    with ThreadPoolExecutor() as other_thread:  # Playwright's event loop runs in this one
        moments = other_thread.map(lambda name: key_moment_of(load_scenario(name)).link(), names)
        paths = [f"lab/{name}?exact&present=1#{moment}" for name, moment in zip(names, moments, strict=True)]
    address, found = serve(empty_scene()), []
    for path in (*paths, "tutorials/04-three-locks?present=1"):
        before, _, moment = path.partition("#")
        target = f"{address}/{before}&lang={language}#{moment}"
        page = shown(open_page(target, reduced_motion="reduce", viewport={"width": 1024, "height": 768}))
        page.wait_for_function(STANDS)
        page.evaluate(SETTLE)
        found += [f"{before}: {cut}" for cut in page.evaluate(CUT)]
        page.evaluate(RUN)
        page.evaluate(SETTLE)
        found += [f"{before}, later: {cut}" for cut in page.evaluate(CUT)]
    assert found == []


@pytest.mark.parametrize("path", ["lab/three-locks", "tutorials/04-three-locks"])
def test_on_a_phone_tools_and_status_cover_nothing_and_nothing_scrolls_sideways(serve, open_page, path):
    page = open_page(f"{serve(empty_scene())}/{path}", reduced_motion="reduce", viewport=PHONE)
    page.wait_for_selector("#stage .node", state="attached")
    for stage in page.locator(".side-button").all()[1:]:
        stage.click()
    tools, node = page.locator(".map-tools").bounding_box(), page.locator("#stage .node").first.bounding_box()
    assert tools["y"] + tools["height"] <= node["y"]
    assert page.locator("#connection-place").evaluate("(place) => place.scrollWidth <= place.clientWidth")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    page.keyboard.press("f")
    expect(page.locator("html")).to_have_class(re.compile("is-presenting"))
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


@pytest.fixture
def address(serve) -> str:
    return serve(empty_scene())


def test_the_key_f_and_the_button_show_the_stage_over_the_whole_window_and_escape_leaves_it(address, open_page):
    page = open_page(f"{address}/lab/three-locks", viewport={"width": 1440, "height": 900})
    shown(page)
    page.keyboard.press("f")
    expect(page.locator("#present")).to_have_attribute("aria-pressed", "true")
    for hidden in (".page-head", ".drawer", ".sequence"):
        expect(page.locator(hidden)).not_to_be_visible()
    assert page.locator("#stage").bounding_box()["width"] == 1440
    expect(page.locator("#control-play")).to_be_in_viewport(ratio=1)
    page.keyboard.press("Escape")
    expect(page.locator(".page-head")).to_be_visible()
    expect(page.locator(".drawer")).to_be_visible()
    expect(page.locator(".sequence")).to_be_visible()
    page.locator("#present").click()
    expect(page.locator(".page-head")).not_to_be_visible()
    page.locator("#present").click()
    expect(page.locator(".page-head")).to_be_visible()


def test_the_address_keeps_the_presentation_and_leads_others_to_it(address, open_page):
    page = open_page(f"{address}/lab/hello")
    shown(page)
    page.keyboard.press("f")
    expect(page).to_have_url(re.compile("present=1"))
    expect(shown(open_page(page.url)).locator(".page-head")).not_to_be_visible()
    page.reload()
    expect(shown(page).locator(".page-head")).not_to_be_visible()
    page.keyboard.press("f")
    expect(page).not_to_have_url(re.compile("present"))


def test_panels_come_when_they_are_asked_for_and_the_stage_keeps_its_letters(address, open_page):
    page = open_page(f"{address}/lab/three-locks?present=1", viewport={"width": 1024, "height": 768})
    shown(page)
    page.locator("#present-panels").click()
    expect(page.locator(".drawer")).to_be_visible()
    assert page.locator("#stage").bounding_box()["width"] == 1024
    page.locator("#present-panels").click()
    expect(page.locator(".drawer")).to_have_count(0)
    page.keyboard.press("d")
    expect(page.locator(".sequence")).to_be_visible()
    page.evaluate(SETTLE)
    assert letters(page)[0] >= 16
    page.keyboard.press("Escape")
    expect(page.locator(".drawer")).to_have_count(0)  # the window is narrow: as without a presentation


def test_page_and_arrow_keys_step_through_the_lab(address, open_page):
    page = open_page(f"{address}/lab/hello?present=1")
    shown(page).locator("#stage").focus()
    for key, event in (("PageDown", 1), ("ArrowRight", 2), ("ArrowLeft", 1), ("PageUp", 0)):
        page.keyboard.press(key)
        expect_event(page, event)
    page.keyboard.press("Space")
    expect(page.locator("#control-play")).to_have_text("Pause")
    page.keyboard.press("?")
    expect(page.locator("#key-map")).to_contain_text("Page Down")


def test_page_keys_turn_the_pages_of_a_lesson_and_bring_the_world_to_where_each_begins(address, open_page):
    page = open_page(f"{address}/tutorials/04-three-locks?present=1", reduced_motion="reduce")
    shown(page)
    data = lesson_data(page)
    title = page.locator(".presented-title")
    for number, key in ((1, "PageDown"), (2, "PageDown"), (1, "PageUp")):
        page.keyboard.press(key)
        expect(title).to_contain_text(data["steps"][number - 1]["heading"]["en"])
        page.wait_for_function(
            """async (link) => (await import('/static/common/world/view.js')).view.peek().link === link""",
            arg=data["steps"][number - 1]["start_link"],
        )
    expect(page.locator("#lesson")).not_to_be_visible()
    page.locator("#present-text").click()
    expect(page.locator("#lesson")).to_be_visible()


@pytest.mark.parametrize(
    ("path", "width", "height"),
    [
        ("lab/hello", 1024, 768),
        ("lab/three-locks", 1024, 768),
        ("lab/xa-two-phase", 1024, 768),
        ("lab/xa-two-phase", 1920, 1080),
        ("lab/majority-log", 1920, 1080),
        ("tutorials/04-three-locks", 1024, 768),
    ],
)
def test_the_projector_s_theme_has_large_letters_without_a_presentation_too(address, open_page, path, width, height):
    """The stage is larger than its frame there, and moves to what acts."""
    page = open_page(
        f"{address}/{path}?theme=projector", viewport={"width": width, "height": height}, reduced_motion="reduce"
    )
    shown(page).evaluate(RUN)
    page.evaluate(SETTLE)
    assert letters(page)[0] >= 16, letters(page)
    assert page.evaluate(FAULTS) == []
    assert page.evaluate(OUTSIDE) == []
    page.evaluate("glassmqTheme.choose('light')")
    page.evaluate(SETTLE)
    inner, stage = (page.locator(each).bounding_box() for each in (".lab-stage-inner", "#stage"))
    assert inner["height"] <= stage["height"], "with usual letters the stage is whole again"


def test_a_topic_of_many_queues_fills_both_columns_of_a_wide_broker(address, open_page):
    page = open_page(
        f"{address}/lab/big-stage?theme=projector", viewport={"width": 1920, "height": 1080}, reduced_motion="reduce"
    )
    shown(page).evaluate(RUN)
    page.evaluate(SETTLE)
    page.evaluate(WIDE_BROKER)
    first, last = (page.locator(f"[data-queue='Orders@{queue}']").bounding_box() for queue in (0, 7))
    assert last["x"] >= first["x"] + first["width"]


@pytest.mark.parametrize("path", ["lab/three-locks", "tutorials/04-three-locks"])
@pytest.mark.parametrize("theme", ["light", "projector"])
def test_the_caption_has_a_row_of_its_own_without_a_presentation_too(address, open_page, path, theme):
    page = open_page(f"{address}/{path}?theme={theme}", viewport={"width": 1024, "height": 768})
    shown(page)
    page.evaluate(RUN)
    expect(page.locator(".moment-text")).to_be_visible()
    stage, caption = (page.locator(each).bounding_box() for each in ("#stage", ".moment-text"))
    assert stage["y"] + stage["height"] <= caption["y"] + 1
