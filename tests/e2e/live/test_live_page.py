"""The live page in Chromium over a made-up broker: what it shows, and that it follows what happens."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from playwright.sync_api import expect

from tests.e2e.accessibility import THEMES, choose_theme
from tests.e2e.conftest import live, open_tab, sequence, wait_for_update
from tests.e2e.scenes import empty_scene, heavy_scene, small_scene


@pytest.mark.parametrize(("language", "title"), [("en", "Commit log"), ("zh", "CommitLog")])
@pytest.mark.parametrize("scene", [empty_scene, small_scene], ids=["empty", "small"])
def test_the_page_loads_without_console_errors_and_shows_no_text_key_for_a_text(
    serve, open_page, scene, language, title
):
    page = live(open_page(f"{serve(scene())}/live?lang={language}"))
    expect(page.locator("#commit-log-title")).to_have_text(title)
    page.keyboard.press("?")
    expect(page.locator("#key-map")).to_be_visible()
    keys = page.evaluate(
        r"""() => [...document.querySelectorAll('*')].flatMap((element) =>
              [...element.childNodes].filter((node) => node.nodeType === 3).map((node) => node.data)
                .concat(['title', 'aria-label', 'placeholder'].map((name) => element.getAttribute(name) ?? '')))
            .filter((text) =>
              /^(live|connection|controls|keys|section|inspector|queue|unit|text|page)\.[a-z_.]+$/.test(text))"""
    )
    assert keys == []


def test_an_empty_broker_says_what_to_do_next(serve, open_page):
    page = live(open_page(f"{serve(empty_scene())}/live"))
    expect(page.locator(".producers")).to_contain_text("glassmq send orders 'hello'")
    expect(page.locator(".consumers")).to_contain_text("glassmq consume orders --group billing")
    expect(page.locator(".first-steps")).to_contain_text("127.0.0.1:9876")
    expect(page.locator(".producers")).not_to_contain_text("--name-server")  # the default address needs no option


def test_messages_of_senders_that_have_left_are_not_called_none(serve, open_page):
    scene = empty_scene()
    scene.add_topic("orders")
    scene.send("orders", "one", 0)
    address = serve(scene)
    producers = live(open_page(f"{address}/live")).locator(".producers")
    expect(producers).to_contain_text("No producer is connected now")
    expect(producers).to_contain_text(re.compile(r"The last message came in \d+ s ago"))
    expect(producers.locator(".recent-senders")).to_contain_text("127.0.0.1:40001")
    expect(producers).not_to_contain_text("first message")
    expect(open_page(f"{address}/").locator(".mini-side").first).to_contain_text("No producer is connected now")


def test_the_commands_to_try_name_a_name_server_at_an_unusual_address(serve, open_page):
    scene = empty_scene()
    scene.tree["cluster"]["name_server"] = "127.0.0.1:19876"
    address = serve(scene)
    command = ".venv/bin/glassmq send orders 'hello' --name-server 127.0.0.1:19876"
    expect(live(open_page(f"{address}/live")).locator(".producers .command")).to_have_text(command)
    expect(open_page(f"{address}/").locator(".mini-next .command")).to_have_text(command)


def test_a_group_that_keeps_up_raises_no_alarm(serve, open_page):
    """A group commits with its next pull: in a busy queue it lags by a few messages all the time."""
    scene = small_scene(lively=False)
    scene.commit("billing", "orders", 0, 1190)
    scene.commit("billing", "orders", 1, 1189)
    page = live(open_page(f"{serve(scene)}/live"))
    chips = [page.locator(f"[data-queue='orders@{queue}'] .lag-chip").first for queue in (0, 1)]
    expect(chips[0]).to_contain_text("lags by 10")
    expect(chips[0]).to_have_class("lag-chip ")
    expect(chips[1]).to_contain_text("lags by 11")
    expect(chips[1]).to_have_class("lag-chip has-lag")


@pytest.mark.smoke
def test_a_message_shows_in_log_lane_and_table_as_soon_as_it_is_stored(serve, open_page):
    scene = small_scene(lively=False)
    page = live(open_page(f"{serve(scene)}/live"))
    lane = page.locator("[data-queue='orders@2']")
    expect(lane.locator("[data-cell=max]")).to_have_text("1,200")
    offset = scene.send("orders", "a parcel for Ada", 2, keys="parcel-1")
    expect(lane.locator("[data-cell=max]")).to_have_text("1,201")
    expect(page.locator(f".strip [data-offset='{offset}']")).to_be_visible()
    row = open_tab(page, "messages").locator(".record-row", has_text="a parcel for Ada")
    expect(row).to_contain_text("Q2 · 1,200")
    expect(row).to_contain_text("parcel-1")


def test_lag_shows_at_ten_and_at_ten_million(serve, open_page):
    scene = small_scene(lively=False)
    scene.add_topic("huge", 2, stored=10_000_000)
    scene.add_group("sleeper", ["huge"])
    scene.commit("sleeper", "huge", 0, 9_999_990)
    scene.commit("sleeper", "huge", 1, 0)
    page = live(open_page(f"{serve(scene)}/live"))
    expect(page.locator("[data-queue='huge@0'] [data-cell=lag]")).to_contain_text("10")
    expect(page.locator("[data-queue='huge@1'] [data-cell=lag]")).to_contain_text("10M")
    widths = page.evaluate(
        """() => ['huge@0', 'huge@1'].map((queue) =>
             document.querySelector(`[data-queue='${queue}'] .lane-unread`).getBoundingClientRect().width)"""
    )
    assert 20 < widths[0] < widths[1] / 3


def crowded_scene():
    """Six groups read one topic; some stand at the same place, two have no members."""
    scene = small_scene(lively=False)
    for name in ("analytics", "cache", "mail", "zebra"):
        scene.add_group(name, ["orders"])
    scene.connect(41010, "GO", group="mail")
    scene.connect(41011, "JAVA", group="zebra")
    for queue_id, lags in enumerate(((900, 880, 0, 1), (12, 11, 10, 9), (0, 0, 0, 0), (1200, 1100, 1, 2))):
        for group, lag in zip(("analytics", "mail", "zebra", "cache"), lags, strict=True):
            scene.commit(group, "orders", queue_id, 1200 - lag)
    return scene


def test_marks_of_many_groups_in_a_lane_never_cover_each_other(serve, open_page):
    page = live(open_page(f"{serve(crowded_scene())}/live"))
    for queue_id in range(4):
        lane = page.locator(f"[data-queue='orders@{queue_id}'] .lane-drawing")
        middles = lane.locator("g[transform]").evaluate_all(
            "(marks) => marks.map((mark) => new DOMMatrix(getComputedStyle(mark).transform).e).sort((a, b) => a - b)"
        )
        assert len(middles) >= 3
        assert all(right - left > 18 for left, right in pairwise(middles)), (queue_id, middles)


def test_with_many_groups_every_backlog_is_a_sentence_and_groups_with_members_come_first(serve, open_page):
    page = live(open_page(f"{serve(crowded_scene())}/live"))
    lags = page.locator("[data-topic=orders] .reader-lag")
    expect(lags.locator(".group-letter")).to_have_text(["B", "M", "S", "Z", "A", "C"])
    expect(lags.locator(".lag-words")).to_have_text(
        ["caught up", "lags by 1,991", "lags by 39", "lags by 11", "lags by 2,112", "lags by 12"]
    )
    cell = page.locator("[data-queue='orders@3'] [data-cell=lag]")
    expect(cell).to_contain_text("lags by 1,200")  # of the group that lags most
    assert cell.evaluate("(cell) => cell.scrollWidth <= cell.clientWidth")
    cards = page.locator("[data-group]").evaluate_all("(cards) => cards.map((card) => card.dataset.group)")
    assert cards == ["billing", "ledger", "mail", "search-index", "zebra", "analytics", "cache", "reports"]


def test_a_group_that_broadcasts_has_no_lag_and_no_offsets_to_reset(serve, open_page):
    scene = small_scene(lively=False)
    scene.add_group("screens", ["orders"], model="BROADCASTING")
    page = live(open_page(f"{serve(scene)}/live"))
    card = page.locator("[data-group=screens]")
    expect(card.locator(".group-lag")).to_have_text("broadcasting")
    expect(card.locator(".group-lag")).to_have_attribute("title", re.compile("Each member keeps its own offsets"))
    expect(card.get_by_role("button", name="Reset")).to_have_count(0)
    expect(page.locator("[data-topic=orders] .reader-lag .group-letter")).to_have_text(["B", "S"])
    open_tab(page, "consumers").locator("#groups select").select_option("screens")
    details = page.locator("#groups .group-details")
    expect(details).to_contain_text("Each member keeps its own offsets: the broker does not know the lag")
    expect(details.get_by_role("button", name="Reset")).to_have_count(0)


def test_what_becomes_of_a_backlog_is_reported_at_its_group_and_at_its_topic(serve, open_page):
    scene = small_scene(lively=False)
    scene.commit("billing", "orders", 0, 1200 - 900)
    scene.tree["groups"]["billing"]["lag"] = 900
    page = live(open_page(f"{serve(scene)}/live"))
    words = page.locator("[data-group=billing] .lag-words")
    expect(words).to_have_text("lags by 900")  # nobody can tell yet
    for seconds in range(1, 21):
        before = sequence(page)
        with scene.lock:  # a picture with the new time and the old lag would be another speed
            scene.now_ms += 1000
            scene.tree["cluster"]["now_us"] = scene.now_ms * 1000
            scene.commit("billing", "orders", 0, 300 + 20 * seconds)
            scene.tree["groups"]["billing"]["lag"] = 900 - 20 * seconds
        wait_for_update(page, after=before)
    expect(words).to_have_text("lags by 500, caught up in ~25 s")
    expect(page.locator("[data-topic=orders] .reader-lag", has_text="billing")).to_contain_text("caught up in ~")
    expect(page.locator("[data-group=reports] .lag-words")).to_contain_text(", no recent reads")


MARKS = """() => Object.fromEntries([
    ...[...document.querySelectorAll('[data-topic]')].map((one) => [one.dataset.topic, '.topic-mark', one]),
    ...[...document.querySelectorAll('[data-group]')].map((one) => [one.dataset.group, '.group-mark', one]),
  ].map(([name, mark, one]) => {
    const found = one.querySelector(mark);
    const shape = found.querySelector('path')?.getAttribute('d') ?? '';
    return [name, [...found.classList, found.textContent, shape].join(' ')];
  }))"""


def test_a_reload_changes_no_colour_and_no_letter_although_others_were_created(serve, open_page):
    scene = small_scene(lively=False)
    page = live(open_page(f"{serve(scene)}/live"))
    before = page.evaluate(MARKS)
    for name in ("a-first", "o-range", "orchids", "pay", "zoo"):
        scene.add_topic(name)
        scene.add_group(f"{name}-group", [name])
    live(page).reload()
    expect(live(page).locator("[data-topic=orchids]")).to_have_count(1)
    after = page.evaluate(MARKS)
    assert {name: after[name] for name in before} == before


def test_marks_follow_from_names_in_every_browser_and_after_a_restart(serve, open_page):
    scene = small_scene(lively=False)
    before = live(open_page(f"{serve(scene)}/live")).evaluate(MARKS)
    restarted = small_scene(lively=False)
    for kind in ("topics", "groups"):  # in another order, and with one more that comes first
        restarted.tree[kind] = dict(reversed(restarted.tree[kind].items()))
    restarted.add_topic("adverts")
    restarted.add_group("accounts", ["adverts"])
    page = live(open_page(f"{serve(restarted)}/live"))  # another browser, which remembers nothing
    expect(page.locator("[data-topic=adverts]")).to_have_count(1)
    after = page.evaluate(MARKS)
    assert {name: after[name] for name in before} == before


def test_one_message_read_late_does_not_flatten_the_latency_plot(serve, open_page):
    scene = small_scene()
    scene.seconds[len(scene.seconds) // 2]["deliver_p99_ms"] = 400_000
    page = live(open_page(f"{serve(scene)}/live?tab=metrics&theme=light"))
    page.locator("#plots").scroll_into_view_if_needed()
    page.wait_for_function(
        """() => {
             const canvas = document.querySelectorAll('#plots canvas')[2];
             const { width, height } = canvas;
             const from = Math.round(width * 0.6);
             const { data } = canvas.getContext('2d').getImageData(from, 0, width - from, height);
             const rows = new Set();
             for (let at = 0; at < data.length; at += 4) {
               const isOrange = data[at + 3] > 200 && data[at] > 170 && data[at + 1] < 110 && data[at + 2] < 40;
               if (isOrange) rows.add(Math.floor(at / 4 / (width - from)));
             }
             return Math.max(...rows) - Math.min(...rows) >= 6;
           }"""
    )


def test_a_narrow_page_cuts_no_heading_and_leaves_no_figure_out(serve, open_page):
    page = live(open_page(f"{serve(small_scene())}/live", viewport={"width": 500, "height": 900}))
    names = page.locator(".metric-name")
    expect(names).to_have_count(7)
    assert (
        names.evaluate_all("(all) => all.filter((one) => !one.offsetWidth || one.scrollWidth > one.clientWidth)") == []
    )
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    labels = page.locator(".axis-drawing text:not(.axis-title)").evaluate_all(
        "(all) => all.map((one) => one.getBoundingClientRect()).map((box) => [box.left, box.right])"
    )
    assert all(right <= left for (_, right), (left, _) in pairwise(sorted(labels))), labels


def test_members_show_the_queues_they_own_and_their_held_pulls(serve, open_page):
    page = live(open_page(f"{serve(small_scene(lively=False))}/live"))
    members = page.locator("[data-group=billing] .member")
    expect(members).to_have_count(2)
    expect(members.first.locator(".queue-chip")).to_have_count(3)
    expect(page.locator("[data-group=billing] .member").first).to_contain_text("Java")
    expect(page.locator("[data-group=billing] .queue-chip-text")).to_have_text(["OR·0", "OR·1", "↻B·0", "OR·2", "OR·3"])
    expect(page.locator("[data-group=ledger] .lock-sign")).to_have_count(4)
    page.locator("[data-group=ledger] .queue-chip").first.focus()
    page.keyboard.press("ArrowRight")
    words = page.locator("[data-group=ledger] .queue-chip:focus .chip-words")
    expect(words).to_contain_text("payments, queue 1")
    expect(words).to_contain_text(re.compile(r"The lock expires in \d+ s"))
    expect(words).to_contain_text(re.compile(r"The pull waits for offset \d+, for another \d+ s"))
    expect(page.locator("[data-group=reports]")).to_contain_text("No member is connected")


SHIFTS = """() => {
  window.shifted = 0;
  const add = (entries) => entries.forEach(({ value }) => (window.shifted += value));
  const observer = new PerformanceObserver((list) => add(list.getEntries()));
  observer.observe({ type: 'layout-shift' });
  window.shiftedUntilNow = () => (add(observer.takeRecords()), window.shifted);
}"""


@pytest.mark.parametrize("size", [(1440, 900), (390, 844)])
def test_what_comes_in_moves_nothing_about(serve, open_page, size):
    scene = small_scene()
    page = live(open_page(f"{serve(scene)}/live", viewport={"width": size[0], "height": size[1]}))
    expect(page.locator(".strip .block")).not_to_have_count(0)
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    page.evaluate(SHIFTS)
    newest = page.locator(".strip .block").last
    first = newest.get_attribute("data-offset")
    for _ in range(8):
        before = sequence(page)
        scene.advance(400)
        wait_for_update(page, after=before)
    expect(newest).not_to_have_attribute("data-offset", first)
    assert page.evaluate("shiftedUntilNow()") < 0.002


def test_a_held_pull_shows_how_long_it_still_waits(serve, open_page):
    page = live(open_page(f"{serve(small_scene(lively=False))}/live?tab=consumers"))
    page.locator("#groups select").select_option("ledger")
    heading = page.locator(".queue-table").get_by_role("columnheader", name="Held pulls")
    expect(heading).to_have_attribute("title", re.compile("No message is delayed"))
    expect(page.locator(".queue-table .timer-text").first).to_have_text(re.compile(r"^\d+ s$"))


def test_pause_freezes_the_display_and_the_stream_goes_on(serve, open_page):
    scene = small_scene(lively=False)
    page = live(open_page(f"{serve(scene)}/live"))
    page.get_by_role("button", name="Pause").click()
    expect(page.locator("#connection")).to_have_attribute("data-status", "paused")
    before = sequence(page)
    scene.send("orders", "while paused", 0)
    wait_for_update(page, after=before)
    expect(page.locator("[data-queue='orders@0'] [data-cell=max]")).to_have_text("1,200")
    expect(page.locator("#connection")).to_contain_text("waiting")
    page.get_by_role("button", name="Pause").click()
    expect(page.locator("[data-queue='orders@0'] [data-cell=max]")).to_have_text("1,201")


def test_filter_and_system_topics(serve, open_page):
    page = live(open_page(f"{serve(small_scene(lively=False))}/live"))
    expect(page.locator("[data-topic=TBW102]")).to_have_count(0)
    page.get_by_label("System topics").check()
    expect(page.locator("[data-topic=TBW102]")).to_have_count(1)
    page.get_by_role("searchbox", name="Filter topics").fill("PAY")
    expect(page.locator("[data-topic]")).to_have_count(1)
    expect(page.locator("[data-topic=payments]")).to_be_visible()
    page.get_by_role("searchbox", name="Filter topics").fill("nothing like it")
    page.get_by_role("button", name="Clear the filter").click()
    expect(page.locator("[data-topic=orders]")).to_be_visible()


def test_the_filter_finds_topics_that_are_too_many_to_be_drawn(serve, open_page):
    scene = small_scene(lively=False)
    scene.tree["omitted"] = dict.fromkeys(("connections", "messages", "groups"), 0) | {"topics": 7}
    page = live(open_page(f"{serve(scene)}/live"))
    more = page.locator(".topics-scroll")
    expect(more).to_contain_text("7 more topics are not shown")
    page.get_by_role("searchbox", name="Filter topics").fill("ORDERS")
    expect(page.locator("[data-topic=orders]")).to_be_visible()
    expect(page.locator(".more-topics li")).to_contain_text("unseen-orders queues 4, stored 12")
    expect(more).to_contain_text("3 more matches")
    page.get_by_role("searchbox", name="Filter topics").fill("nothing like it")
    expect(more).to_contain_text("No topic contains “nothing like it”")


def test_retry_and_dead_letters_stand_with_their_group(serve, open_page):
    page = live(open_page(f"{serve(small_scene(lively=False))}/live"))
    order = page.locator("[data-topic]").evaluate_all("(sections) => sections.map((one) => one.dataset.topic)")
    assert order == ["audit-trail", "orders", "payments", "%RETRY%billing", "%DLQ%billing"]


def test_search_by_key_opens_the_record(serve, open_page):
    scene = small_scene(lively=False)
    scene.send("orders", "find me", 1, keys="needle")
    page = live(open_page(f"{serve(scene)}/live?tab=messages"))
    page.locator("select[name=topic]").select_option("orders")
    page.locator("#search-text").fill("needle")
    page.locator("#search-text").press("Enter")
    page.locator(".search-result .record-row").click()
    expect(page.locator("#inspector")).to_contain_text("find me")


def test_a_search_that_finds_nothing_and_a_bad_id_say_so(serve, open_page):
    page = live(open_page(f"{serve(small_scene(lively=False))}/live?tab=messages"))
    page.locator("#search-text").fill("no such key")
    page.locator("#search-text").press("Enter")
    expect(page.locator(".search-result")).to_contain_text("Nothing found for “no such key”")
    page.get_by_role("radio", name="Log offset").check()
    page.locator("#search-text").fill("12 apples")
    page.locator("#search-text").press("Enter")
    expect(page.locator(".search-result")).to_contain_text("“12 apples” is not an offset")


def test_a_queue_opens_to_its_entries_and_on_to_the_record(serve, open_page):
    scene = small_scene(lively=False)
    offset = scene.send("payments", "pay 5", 3)
    page = live(open_page(f"{serve(scene)}/live"))
    page.locator("[data-queue='payments@3'] .lane-button").click()
    row = page.locator("#queue-entries tbody tr").last
    expect(row.locator(".entry-bytes").first).to_have_text(offset.to_bytes(8, "big").hex(" "))
    row.get_by_role("button").click()
    expect(page.locator("#inspector")).to_contain_text("pay 5")


def test_a_heavy_broker_keeps_the_document_small(serve, open_page):
    page = live(open_page(f"{serve(heavy_scene())}/live"))
    expect(page.locator("[data-topic]")).to_have_count(50)
    page.locator(".topic-toggle").first.click()
    assert page.locator(".lane").count() < 60
    assert page.evaluate("document.querySelectorAll('*').length") < 9000


@pytest.mark.parametrize("size", [(390, 844), (1024, 768), (1440, 900), (1920, 1080)])
def test_the_page_never_scrolls_sideways(serve, open_page, size):
    page = live(open_page(f"{serve(small_scene())}/live", viewport={"width": size[0], "height": size[1]}))
    for theme in THEMES:
        if theme == "projector" and size[0] < 1000:  # nobody projects from a phone
            continue
        choose_theme(page, theme)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), theme


def test_projector_text_is_sixteen_points(serve, open_page):
    page = live(open_page(f"{serve(small_scene(lively=False))}/live?theme=projector"))
    assert page.evaluate("parseFloat(getComputedStyle(document.body).fontSize)") == pytest.approx(16 / 0.75, abs=0.1)


def test_nothing_moves_when_the_system_asks_for_reduced_motion(serve, open_page):
    scene = small_scene()
    page = live(open_page(f"{serve(scene)}/live", reduced_motion="reduce"))
    before = sequence(page)
    scene.advance(1000)
    wait_for_update(page, after=before)
    assert page.locator(".link-dot").count() == 0
    assert page.evaluate("document.getAnimations().length") == 0
    page.get_by_role("button", name="Motion").click()
    page.wait_for_function("() => document.getAnimations().length > 0")


def test_a_block_under_the_pointer_stays_where_it_is(serve, open_page):
    scene = small_scene()
    page = live(open_page(f"{serve(scene)}/live"))
    block = page.locator(".strip .block").last
    offset = block.get_attribute("data-offset")
    block.hover()
    before = sequence(page)
    scene.advance(3000)
    wait_for_update(page, after=before)
    assert page.locator(".strip .block").last.get_attribute("data-offset") == offset
    page.mouse.move(5, 300)
    expect(page.locator(".strip .block").last).not_to_have_attribute("data-offset", offset)
