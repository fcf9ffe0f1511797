"""The start page: what GlassMQ is, a living picture of the broker, and the ways on."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from app.lab.routes.demonstration import TAKES
from tests.e2e.letters import letters
from tests.e2e.scenes import empty_scene, small_scene

CHAPTERS = [chapter.name for take in TAKES for chapter in take.chapters]


def film(page: Page) -> Page:
    """Wait until the demonstration shows its first picture."""
    expect(page.locator(".film [data-node=B1]")).to_be_visible()
    return page


def test_it_says_what_this_is_and_leads_on(serve, open_page):
    address = serve(small_scene(lively=False))
    page = open_page(f"{address}/")
    expect(page.get_by_role("heading", level=1)).to_have_text("See inside a message broker")
    expect(page.locator(".hero-sentence")).to_have_text(re.compile("^A message broker takes messages from programs"))
    offers = page.locator(".offer a")
    expect(offers).to_have_text(["Learn", "Inject faults", "Connect your client"])
    targets = offers.evaluate_all("(links) => links.map((link) => link.getAttribute('href'))")
    assert targets == ["/tutorials", "/lab", "#connect"]
    offers.nth(1).click()
    expect(page).to_have_url(re.compile("/lab$"))
    expect(page.get_by_role("heading", level=1)).to_have_text("The lab")
    page.goto(f"{address}/")
    page.locator(".now-head a").click()
    expect(page).to_have_url(re.compile("/live$"))


def go_to(page: Page, chapter: str) -> None:
    """Press "next" until that chapter is shown."""
    shown = page.locator(".film")
    for _ in CHAPTERS:
        if shown.get_attribute("data-chapter") == chapter:
            return
        page.locator("#film-next").click()
    expect(shown).to_have_attribute("data-chapter", chapter)


def test_the_demonstration_begins_by_itself_and_says_what_one_sees(serve, open_page):
    page = film(open_page(f"{serve(empty_scene())}/"))
    expect(page.locator("#film-play")).to_have_text("Pause")
    expect(page.locator(".film-caption")).to_contain_text("appends it to its commit log")
    expect(page.locator("[data-node=B1] [data-record]")).to_have_count(1)
    expect(page.locator("[data-queue='Orders@1'] .cell")).to_have_count(1)
    expect(page.locator(".film")).to_have_attribute("data-chapter", "consume")


def test_it_shows_the_duplicate_that_the_missing_lock_lets_through(serve, open_page):
    page = film(open_page(f"{serve(empty_scene())}/", reduced_motion="reduce"))
    go_to(page, "order")
    expect(page.locator(".film-verdict")).to_contain_text("Broker lock on")
    expect(page.locator(".film-verdict")).to_contain_text(re.compile(r"\d+ invariants hold"))
    go_to(page, "off")
    expect(page.locator(".film-verdict")).to_contain_text("Broker lock off")
    expect(page.locator("[data-node=B1] .pill.is-off").first).to_be_visible()
    go_to(page, "duplicate")
    expect(page.locator(".film-caption")).to_contain_text("C1 and C2 are processing ann4 at the same time")
    expect(page.locator(".film-verdict.is-broken")).to_contain_text("One listener call per queue")
    expect(page.locator(".film-verdict")).to_contain_text("duplicate")
    for consumer in ("C1", "C2"):
        expect(page.locator(f"[data-node={consumer}] .chip-call.is-accused")).to_have_text("ann4")
        expect(page.locator(f"[data-node={consumer}] [data-process-queue='Orders@1']")).to_have_class(
            re.compile("is-accused")
        )
    expect(page.locator("[data-queue='Orders@1']")).to_have_class(re.compile("is-accused"))


def test_it_shows_the_same_moment_with_the_lock_on(serve, open_page):
    page = film(open_page(f"{serve(empty_scene())}/", reduced_motion="reduce"))
    go_to(page, "join")
    expect(page.locator("[data-node=C2] [data-process-queue='Orders@1']")).to_have_count(1)
    go_to(page, "refused")
    expect(page.locator(".film-verdict")).to_contain_text("Broker lock on")
    expect(page.locator("[data-node=C2] [data-process-queue]")).to_have_count(0)
    expect(page.locator("[data-node=C1] [data-process-queue='Orders@1']")).to_have_count(1)
    expect(page.locator(".film .is-accused")).to_have_count(0)
    go_to(page, "handover")
    expect(page.locator("[data-node=C2] [data-process-queue='Orders@1']")).to_have_count(1)
    expect(page.locator("[data-node=C1] [data-process-queue='Orders@1']")).to_have_count(0)
    go_to(page, "end")
    expect(page.locator(".film-caption")).to_contain_text(re.compile(r"All \d+ orders are processed, each once"))
    page.locator("#film-previous").click()
    page.locator("#film-previous").click()
    page.locator("#film-previous").click()
    expect(page.locator(".film")).to_have_attribute("data-chapter", "twice")
    expect(page.locator(".film-verdict")).to_contain_text("Broker lock off")


def test_it_ends_with_the_ways_on_and_can_be_watched_again(serve, open_page):
    page = film(open_page(f"{serve(empty_scene())}/"))
    go_to(page, "end")
    expect(page.locator("#film-over")).to_be_visible()
    offers = page.locator("#film-over a")
    expect(offers).to_have_text(["Turn the lock off yourself", "Lesson: three locks, one at a time"])
    targets = offers.evaluate_all("(links) => links.map((link) => link.getAttribute('href'))")
    assert targets == ["/lab/start-page", "/tutorials/04-three-locks"]
    for target in targets:
        assert page.request.get(page.url.rstrip("/") + target).status == 200
    page.locator("#film-over button").click()
    expect(page.locator("#film-over")).to_have_count(0)
    expect(page.locator(".film")).to_have_attribute("data-chapter", "send")
    expect(page.locator("#film-play")).to_have_text("Pause")


def test_on_a_phone_the_film_is_a_column_with_what_acts_in_view_and_letters_to_read(serve, open_page):
    phone = {"width": 390, "height": 844}
    page = film(open_page(f"{serve(empty_scene())}/", viewport=phone, reduced_motion="reduce"))
    expect(page.locator("[data-node=B1]")).to_be_in_viewport(ratio=0.9)
    go_to(page, "duplicate")
    page.locator(".film").evaluate("(film) => film.scrollIntoView()")
    for name in ("C1", "C2"):
        expect(page.locator(f"[data-node={name}] .listener-call.is-accused")).to_be_in_viewport(ratio=0.99)
    assert letters(page)[0] >= 11
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390


def test_pause_stops_it(serve, open_page):
    page = film(open_page(f"{serve(empty_scene())}/"))
    page.locator("#film-play").click()
    expect(page.locator("#film-play")).to_have_text("Play")
    page.wait_for_function("() => document.getAnimations().length === 0")
    # The clock glides to where the film has stopped.
    stands = "() => window.lastClock === (window.lastClock = document.querySelector('.film-clock').innerText)"
    page.wait_for_function(stands, polling=400)
    before = page.locator(".film-clock").inner_text()
    page.evaluate("new Promise((resolve) => setTimeout(resolve, 300))")
    assert page.locator(".film-clock").inner_text() == before


def test_nothing_moves_by_itself_when_motion_is_reduced(serve, open_page):
    page = film(open_page(f"{serve(empty_scene())}/", reduced_motion="reduce"))
    expect(page.locator("#film-play")).to_have_text("Play")
    expect(page.locator(".film")).to_have_attribute("data-playing", "no")
    for chapter in CHAPTERS[1:]:
        page.locator("#film-next").click()
        expect(page.locator(".film")).to_have_attribute("data-chapter", chapter)
        expect(page.locator(".film")).to_have_attribute("data-playing", "no")
    expect(page.locator("#film-over")).to_be_visible()
    assert page.evaluate("document.getAnimations().length") == 0


def test_the_demonstration_speaks_chinese(serve, open_page):
    page = film(open_page(f"{serve(empty_scene())}/?lang=zh"))
    expect(page.locator(".film-caption")).to_contain_text("生产者 P1 把它发出去")
    expect(page.locator(".film-verdict")).to_contain_text("Broker 锁：开")


def test_its_world_opens_in_the_lab(serve, open_page):
    page = film(open_page(f"{serve(empty_scene())}/"))
    page.locator(".film-world").click()
    expect(page.locator("h1")).to_have_text("What the start page shows")


def test_without_the_demonstration_the_page_still_leads_on(serve, open_page):
    address = serve(empty_scene())
    page = open_page(f"{address}/healthz")
    refusal = {"reason": "server_busy", "error": "too much to do", "text": {"en": "too much to do", "zh": "x"}}
    answer = {"status": 503, "json": refusal}
    page.route("**/api/demonstration", lambda route: route.fulfill(**answer))
    page.goto(f"{address}/")
    expect(page.locator("#demonstration [role=alert]")).to_contain_text("too much to do")
    expect(page.locator(".offer")).to_have_count(3)
    open_page.complaints.clear()  # the browser itself notes the 503


def test_it_fits_a_small_window(serve, open_page):
    page = film(open_page(f"{serve(empty_scene())}/", viewport={"width": 1024, "height": 768}))
    expect(page.locator("#film-play")).to_be_in_viewport()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_its_picture_lives(serve, open_page):
    scene = small_scene(lively=False)
    page = open_page(f"{serve(scene)}/")
    expect(page.locator("[data-figure=stored] .number")).to_have_text("4.81M")
    expect(page.locator("[data-figure=clients] .number")).to_have_text("7")
    expect(page.locator(".mini-block")).to_have_count(0)
    scene.send("orders", "one", 0)
    expect(page.locator(".mini-block")).to_have_count(1)


def test_before_the_first_snapshot_it_claims_nothing(serve, open_page):
    address = serve(small_scene(lively=False))
    page = open_page(f"{address}/healthz")
    page.route_web_socket(re.compile("socket.io"), lambda _: None)  # opens and never says anything
    page.goto(f"{address}/")
    expect(page.locator(".mini-state")).to_have_text("Connecting")
    colours = page.evaluate(
        """() => {
             const sample = document.createElement('i');
             sample.style.color = 'var(--line-strong)';
             document.body.append(sample);
             const dot = getComputedStyle(document.querySelector('.mini-state'), '::before');
             return [dot.backgroundColor, getComputedStyle(sample).color];
           }"""
    )
    assert colours[0] == colours[1]  # grey, neither good nor bad
    expect(page.locator(".mini-figure .number")).to_have_text(["–"] * 5)
    expect(page.locator("#mini-place")).not_to_contain_text("no messages yet")


def test_the_code_names_the_running_name_server(serve, open_page):
    scene = empty_scene()
    scene.tree["cluster"]["name_server"] = "127.0.0.1:19876"
    page = open_page(f"{serve(scene)}/")
    for language in ("java", "python", "node"):
        expect(page.locator(f"#snippet-{language}")).to_contain_text("127.0.0.1:19876")


def test_the_address_can_be_copied(serve, open_page):
    page = open_page(f"{serve(empty_scene())}/", permissions=["clipboard-read", "clipboard-write"])
    page.locator("[data-copy=name-server]").click()
    expect(page.locator("[data-copy=name-server]")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == "127.0.0.1:9876"


def test_choosing_a_language_changes_the_page_and_is_remembered(serve, open_page):
    address = serve(empty_scene())
    page = open_page(f"{address}/")
    page.locator("#language-choice").select_option("zh")
    expect(page.get_by_role("heading", level=1)).to_have_text("看见消息中间件的内部")
    page.goto(f"{address}/live")
    expect(page.locator("#commit-log-title")).to_have_text("CommitLog")


def test_choosing_a_theme_changes_the_page_and_is_remembered(serve, open_page):
    address = serve(empty_scene())
    page = open_page(f"{address}/")
    page.locator("#theme-choice").select_option("dark")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.goto(f"{address}/live")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    expect(page.locator("#theme-choice")).to_have_value("dark")


def test_no_link_is_dead(serve, open_page):
    page = open_page(f"{serve(empty_scene())}/")
    for link in page.locator("a[href]").evaluate_all("(links) => links.map((link) => link.href)"):
        assert page.request.get(link).status == 200, link
