"""The whole way: ``glassmq serve``, unmodified C++ and Java clients, and the page that shows and steps their frames."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import live, open_tab, page_address
from tests.interop.harness.clients import Clients, sent
from tests.interop.harness.cluster import Cluster
from tests.interop.harness.glassmq_cluster import start_glassmq
from tests.interop.harness.installs import ClientUnavailable, cpp_client_python


@pytest.fixture(scope="module")
def cluster(real_client: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    running = start_glassmq(tmp_path_factory.mktemp("glassmq"), options=["--allow-faults"])
    yield running
    running.stop()


@pytest.fixture
def clients(cluster: Cluster, tmp_path: Path) -> Iterator[Clients]:
    started = Clients(cluster, tmp_path)
    yield started
    started.stop_all()


def test_the_page_shows_text_queue_and_offset_of_what_the_cpp_client_sends(cluster, clients, open_page):
    try:
        cpp_client_python()
    except ClientUnavailable as reason:
        pytest.skip(str(reason))
    topic = cluster.create_topic("Parcels", queues=4)
    page = live(open_page(f"{page_address(cluster)}/live"))
    consumer = clients.cpp("consume", "couriers", topic)
    sender = clients.cpp("send", "shop", topic, count=6, prefix="parcel", mode="selected")
    sender.wait_for_success()

    for queue in range(4):
        lane = page.locator(f"[data-queue='{topic}@{queue}'] [data-cell=max]")
        expect(lane).to_have_text("2" if queue < 2 else "1")

    member = page.locator("[data-group=couriers] .member")
    expect(member).to_contain_text("C++")
    expect(member.locator(".queue-chip", has_text=f"{topic}")).to_have_count(4)
    expect(page.locator("[data-group=couriers] .lag-words")).to_have_text("caught up")

    open_tab(page, "messages")
    for number, event in enumerate(sent(sender)):
        row = page.locator(".record-row", has_text=f"parcel-{number}").filter(has_text=topic)
        expect(row).to_contain_text(f"Q{number % 4} · {event['offset']}")  # what the driver's selector chooses
    page.locator(".record-row", has_text="parcel-5").first.click()
    expect(page.locator("#inspector .message-body")).to_have_text("parcel-5")
    expect(page.locator("[data-field=BODY]")).to_contain_text("parcel-5")
    page.keyboard.press("Escape")

    page.locator("select[name=topic]").select_option(topic)
    page.locator("#search-text").fill("parcel-key-3")
    page.locator("#search-text").press("Enter")
    expect(page.locator(".search-result .record-row")).to_contain_text("parcel-3")
    assert consumer.is_running


@pytest.mark.interop_java
def test_a_send_of_the_java_client_is_held_and_passes_with_another_key(cluster, clients, open_page):
    topic = cluster.create_topic("Letters", queues=1)
    page = live(open_page(f"{page_address(cluster)}/live"))
    page.locator(".broker-name .bolt").click()
    page.locator(".popover [data-kind=next-hold]").click()
    page.locator(".popover [name=frame]").select_option("SEND_MESSAGE_V2")
    page.locator(".popover [type=submit]").click()
    expect(page.locator(".fault-banner")).to_contain_text("1 active rule")

    open_tab(page, "faults")
    sender = clients.java_driver("sync", "writers", topic, 1)
    expect(page.locator("[data-held]")).to_contain_text("sends key-0 to broker-a, for Q0")
    page.locator("[name='properties.KEYS']").fill("key-of-the-page")
    page.get_by_role("button", name="Let it pass, changed").click()
    sender.wait_for_success(90.0)

    expect(page.locator(".fault-banner")).to_have_count(0)
    open_tab(page, "messages").locator("select[name=topic]").select_option(topic)
    page.locator("#search-text").fill("key-of-the-page")
    page.locator("#search-text").press("Enter")
    expect(page.locator(".search-result .record-row")).to_contain_text("message-0")
