"""The start page: what GlassMQ is, a living picture of the broker, and the ways on."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.e2e.scenes import empty_scene, small_scene

pytestmark = pytest.mark.browser


def test_it_says_what_this_is_and_leads_to_the_live_page(serve, open_page):
    page = open_page(f"{serve(small_scene(lively=False))}/")
    expect(page.get_by_role("heading", level=1)).to_have_text("See inside a message broker")
    page.locator("a.button-primary").click()
    expect(page).to_have_url(re.compile("/live$"))


def test_it_leads_to_the_lab(serve, open_page):
    page = open_page(f"{serve(small_scene(lively=False))}/")
    page.get_by_role("link", name="Open the lab").click()
    expect(page).to_have_url(re.compile("/lab$"))
    expect(page.get_by_role("heading", level=1)).to_have_text("The lab")


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
    expect(page.locator("#commit-log-title")).to_have_text("提交日志")


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
