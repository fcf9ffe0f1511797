"""Topics, messages and offsets by hand on the live page, and the commands that the forms show."""

from __future__ import annotations

import shlex
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import click
import pytest
from click.testing import CliRunner
from playwright.sync_api import Page, Route, expect

from app.command_line import main
from engine.broker.foundation.broker_config import BrokerConfig
from tests.app.live.test_live_dead_letters import SUCCESS, bury, consume
from tests.e2e.accessibility import findings_in_every_theme
from tests.e2e.conftest import live, open_tab
from tests.support.live.live_server import LiveServer


@pytest.fixture
def server(tmp_path):
    with LiveServer(tmp_path / "data", broker=BrokerConfig(port=0)) as server:
        yield server


def tool(server: LiveServer, *arguments: str) -> None:
    """Run a command; in a thread of its own, as Playwright's event loop runs in this one."""
    command = [*arguments, "--name-server", server.name_servers[0]]
    with ThreadPoolExecutor() as other_thread:
        result = other_thread.submit(lambda: CliRunner().invoke(main, command, prog_name="glassmq")).result()
    assert result.exit_code == 0, result.output


def read_all(server: LiveServer, group: str, topic: str, count: int) -> None:
    """Let ``group`` consume the ``count`` messages that ``topic`` has."""

    def committed(_: object) -> bool:
        queues = server.host.state()["topics"][topic]["queues"].values()
        return sum(queue["committed"].get(group, 0) for queue in queues) == count

    with ThreadPoolExecutor() as other_thread:
        other_thread.submit(consume, server, group, topic, lambda _: SUCCESS, committed).result()


def shown_command(page: Page, dialog: str = "#operator-dialog") -> tuple[str, dict[str, Any]]:
    """The path of the command that the form shows, and its parameters as click reads them."""
    program, *words = shlex.split(page.locator(f"{dialog} .command").inner_text())
    assert program == ".venv/bin/glassmq"
    command: click.Command = main
    context: click.Context | None = None
    path: list[str] = []
    while isinstance(command, click.Group):
        context = command.make_context(command.name, words, parent=context)
        name, found, words = command.resolve_command(context, [*context._protected_args, *context.args])
        assert name is not None
        assert found is not None
        path.append(name)
        command = found
    return " ".join(path), command.make_context(path[-1], words, parent=context).params


def test_a_topic_is_created_and_a_message_sent_to_it_with_the_keyboard(server, open_page):
    page = live(open_page(f"http://{server.server.page_address}/live", reduced_motion="reduce"))
    page.get_by_role("button", name="New topic").focus()
    page.keyboard.press("Enter")
    dialog = page.locator("#operator-dialog")
    expect(dialog.locator("[name=topic]")).to_be_focused()
    page.keyboard.type("parcels")
    dialog.locator("[name=queues]").fill("3")
    path, parameters = shown_command(page)
    assert path == "topics create"
    assert parameters == {"topic": "parcels", "queues": 3, "name_servers": server.name_servers}
    assert findings_in_every_theme(page) == []
    page.keyboard.press("Enter")
    expect(page.locator(".told")).to_contain_text("Topic parcels has 3 queues")
    expect(page.locator("[data-topic=parcels] .lane")).to_have_count(3)

    page.get_by_role("button", name="Send a message to parcels").click()
    expect(dialog.locator("[name=body]")).to_be_focused()
    page.keyboard.type("-it's 5 o'clock & \"late\" $HOME")
    dialog.locator("[name=tag]").fill("new")
    dialog.locator("[name=keys]").fill("ann parcel-1")
    path, parameters = shown_command(page)
    assert (path, parameters["topic"], parameters["tag"]) == ("send", "parcels", "new")
    assert (parameters["body"], parameters["keys"]) == ("-it's 5 o'clock & \"late\" $HOME", ("ann", "parcel-1"))
    dialog.locator("[type=submit]").click()
    expect(page.locator(".told")).to_contain_text("Stored in parcels, queue")
    open_tab(page, "messages")
    expect(page.locator(".record-row", has_text="parcel-1")).to_contain_text("5 o'clock")


def test_a_reset_says_before_what_it_means_and_does_what_it_said(server, open_page):
    tool(server, "send", "orders", "body {n}", "--key", "k", "--count", "12", "--quiet")
    read_all(server, "reports", "orders", 12)
    page = live(open_page(f"http://{server.server.page_address}/live", reduced_motion="reduce"))
    sentence = page.locator("[data-topic=orders] .reader-lag", has_text="reports")
    expect(sentence).to_contain_text("caught up")
    sentence.click()
    dialog = page.locator("#operator-dialog")
    expect(dialog).to_contain_text("Reset the offsets of reports")
    dialog.locator("[name=to]").select_option("earliest")
    expect(dialog.locator(".reset-plan")).to_contain_text("reports would read 12 messages again, from ")
    assert findings_in_every_theme(page) == []
    path, parameters = shown_command(page)
    assert path == "groups reset-offset"
    assert (parameters["group"], parameters["topic"], parameters["place"]) == ("reports", "orders", "earliest")
    dialog.locator("[name=to]").select_option("time")
    assert shown_command(page)[1]["to_time"] is not None
    dialog.locator("[name=to]").select_option("offset")
    dialog.locator("[name=queue]").fill("1")
    dialog.locator("[name=offset]").fill("99")
    expect(dialog.locator(".reset-plan")).to_contain_text("Offset 99 is out of range; allowed: 0 to 3")
    dialog.locator("[name=offset]").fill("2")
    expect(dialog.locator(".reset-plan")).to_contain_text("Q1: 3 → 2")
    parameters = shown_command(page)[1]
    assert (parameters["to_offset"], parameters["queue"]) == (2, 1)
    dialog.locator("[type=submit]").click()
    expect(page.locator(".told")).to_contain_text("reports reads 1 message again, from ")
    expect(sentence).to_contain_text("lags by 1")


def test_a_reset_waits_for_the_preview_of_what_is_chosen_now(server, open_page):
    tool(server, "send", "orders", "body {n}", "--key", "k", "--count", "12", "--quiet")
    read_all(server, "reports", "orders", 12)
    page = live(open_page(f"http://{server.server.page_address}/live", reduced_motion="reduce"))
    page.locator("[data-topic=orders] .reader-lag", has_text="reports").click()
    dialog = page.locator("#operator-dialog")
    plan, reset = dialog.locator(".reset-plan"), dialog.locator("[type=submit]")
    dialog.locator("[name=to]").select_option("earliest")
    expect(plan).to_contain_text("reports would read 12 messages again")
    expect(reset).to_be_enabled()
    asked: list[Route] = []

    def hold(route: Route) -> None:
        asked.append(route)

    page.route("**/api/live/offsets", hold)
    with page.expect_request("**/api/live/offsets") as waiting:
        dialog.locator("[name=to]").select_option("latest")
        expect(plan).to_have_text("")
        expect(reset).to_be_disabled()
    assert waiting.value.post_data_json["to"] == "latest"
    expect(plan).to_have_text("")
    expect(reset).to_be_disabled()
    asked[0].continue_()
    expect(reset).to_be_enabled()
    expect(plan).not_to_contain_text("again")


def test_the_first_message_of_an_empty_broker_is_sent_from_the_page(server, open_page):
    page = live(open_page(f"http://{server.server.page_address}/live", reduced_motion="reduce"))
    page.locator(".first-steps").get_by_role("button", name="Send").click()
    dialog = page.locator("#operator-dialog")
    dialog.locator("[name=topic]").fill("Greetings")
    dialog.locator("[name=body]").fill("hello")
    dialog.locator("[type=submit]").click()
    expect(page.locator(".told")).to_contain_text("Stored in Greetings, queue")
    expect(page.locator(".told-line")).to_have_count(0, timeout=30_000)  # it goes by itself
    expect(page.locator("[data-topic=Greetings] .lane")).to_have_count(4)


def test_what_is_refused_is_said_in_the_form_and_in_the_page_s_language(server, open_page):
    tool(server, "topics", "create", "orders")
    page = live(open_page(f"http://{server.server.page_address}/live?lang=zh"))
    page.get_by_role("button", name="新建主题").click()
    dialog = page.locator("#operator-dialog")
    dialog.locator("[name=topic]").fill("orders")
    dialog.locator("[type=submit]").click()
    expect(dialog.get_by_role("alert")).to_have_text("主题 orders 已经存在")
    open_page.forgive("409")


def test_dead_letters_show_the_command_that_resends_them(server, open_page):
    with ThreadPoolExecutor() as other_thread:
        other_thread.submit(bury, server, "billing", "orders", "order-1", "order-2").result()
    page = live(open_page(f"http://{server.server.page_address}/live?tab=dead-letters"))
    page.locator("#dead-letters [data-resend='0']").click()
    path, parameters = shown_command(page, "#resend-dialog")
    assert path == "dead-letters resend"
    assert (parameters["group"], parameters["to"], len(parameters["messages"])) == ("billing", "group", 1)
