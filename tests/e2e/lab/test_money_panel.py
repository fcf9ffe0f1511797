"""Banks on the stage, the money between them, and the search that finds where it comes from nowhere."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.e2e.accessibility import findings_in_every_theme
from tests.e2e.lab.lab_page import opened, run_to_ms, show_panel
from tests.e2e.scenes import empty_scene

#: A search process is a fresh interpreter on a machine that may be busy.
SEARCH_MS = 240_000


def test_a_debit_is_seen_uncommitted_at_the_bank_and_committed_in_the_money_panel(serve, open_page):
    page = opened(open_page(f"{serve(empty_scene())}/lab/bank-transaction", reduced_motion="reduce"))
    show_panel(page, "money")
    expect(page.locator("#panel-money")).to_contain_text("No money has moved yet")
    run_to_ms(page, 1_200)
    bank = page.locator("[data-node=P1] .bank")
    # The local transaction is open: everybody else still sees the old balance.
    expect(bank.locator(".bank-balance")).to_have_text("200,000")
    expect(bank.locator(".bank-uncommitted")).to_contain_text("−10,000 → 190,000")
    expect(bank.locator(".bank-row.is-open")).to_contain_text("transfer-0")
    run_to_ms(page, 12_000)
    expect(bank.locator(".bank-balance")).to_have_text("130,000")
    expect(page.locator("[data-node=C1] .bank-balance")).to_have_text("60,000")
    # END_TRANSACTION of transfer-6 is lost: its money is on its way for seconds.
    panel = page.locator("#panel-money")
    expect(panel.locator(".money-figures")).to_contain_text("in transit10,000")
    waiting = panel.locator("[data-transfer=transfer-6]")
    expect(waiting.locator(".money-bar.is-open")).to_have_count(1)
    waiting.click()
    expect(waiting).to_have_attribute("aria-pressed", "true")
    plot = panel.locator(".money-canvas .plot-canvas")
    plot.focus()
    page.keyboard.press("ArrowRight")
    expect(panel.locator("#money-readout")).to_contain_text("60,000 − 50,000 =")
    expect(panel.locator("#money-readout strong")).to_have_text("10,000 in transit")
    page.keyboard.press("Home")
    panel.locator(".money-table summary").click()
    expect(panel.locator("tbody tr").filter(has_text="transfer-6")).to_contain_text("open for")
    assert findings_in_every_theme(page) == []


def test_the_search_lets_the_producer_die_and_the_replay_shows_money_from_nowhere(serve, open_page):
    page = opened(open_page(f"{serve(empty_scene())}/lab/bank-naive?theme=dark&lang=zh"))
    show_panel(page, "explorer")
    expect(page.locator(".explorer-form input[name=from_ms]")).to_have_attribute("placeholder", "1000")
    assert findings_in_every_theme(page) == []
    page.locator(".explorer-form button[type=submit]").click()
    finding = page.locator(".explorer-finding")
    expect(finding).to_be_visible(timeout=SEARCH_MS)
    expect(finding.locator(".explorer-holds li")).to_have_count(1)
    expect(finding).to_contain_text("P1 在这里被杀死")
    expect(finding).to_contain_text("凭空多出 10000")
    assert findings_in_every_theme(page) == []
    finding.locator(".button-primary").click()
    page.wait_for_function("() => Number(document.querySelector('#event-number').dataset.event) > 0")
    expect(page.locator(".moment-violation")).to_contain_text("还没有提交扣款", timeout=SEARCH_MS)
    show_panel(page, "money")
    expect(page.locator("#panel-money .money-bar.is-nowhere")).to_have_count(1)
    # Another transfer is on its way, of the same amount: that does not make it good.
    expect(page.locator("#panel-money .money-figure.is-bad")).to_contain_text("10,000")
    expect(page.locator("#panel-money [data-transfer=transfer-0]")).to_contain_text("> ")
