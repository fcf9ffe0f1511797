"""The order of the topics on the live page: by lag, unless by name."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.e2e.conftest import live
from tests.e2e.scenes import small_scene


def test_topics_that_lag_come_first_and_change_places_only_when_their_lag_gets_another_size(serve, open_page):
    scene = small_scene(lively=False)
    page = live(open_page(f"{serve(scene)}/live"))
    names = page.locator(".topic:nth-of-type(-n+3) .topic-name")
    expect(names).to_have_text(["audit-trail", "orders", "payments"])
    max_offset = scene.tree["topics"]["payments"]["queues"]["0"]["max"]
    scene.commit("ledger", "payments", 0, max_offset - 300)
    expect(names).to_have_text(["audit-trail", "payments", "orders"])
    scene.commit("billing", "orders", 0, 1200 - 400)  # as many digits as the other
    expect(names).to_have_text(["audit-trail", "orders", "payments"])
    scene.commit("billing", "orders", 0, 1200 - 200)
    scene.commit("billing", "orders", 1, 1200 - 5)
    expect(page.locator("[data-queue='orders@0']")).to_contain_text("lags by 200")
    expect(names).to_have_text(["audit-trail", "orders", "payments"])
    page.get_by_label("Order of the topics").select_option("name")
    page.reload()
    expect(live(page).get_by_label("Order of the topics")).to_have_value("name")
    expect(names).to_have_text(["audit-trail", "orders", "payments"])
