"""The page's end of the stream: patches as app/foundation/patch.py means them, and a snapshot after every gap."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from playwright.sync_api import expect

from app.foundation.json_types import JsonValue
from app.foundation.patch import PatchRefused, apply_patch, difference
from tests.e2e.conftest import live, running
from tests.e2e.scenes import empty_scene, small_scene
from tests.interop.harness.installs import REPOSITORY
from tests.interop.harness.ports import free_port

keys = st.sampled_from(["a", "b", "0", "orders", "%RETRY%g", "__proto__", "constructor", "toString", ""])
scalars = st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.text(max_size=4)
trees = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4), max_leaves=14
)

APPLY = """async ([tree, operations]) => {
  const { applyPatch, PatchRefused } = await import('/static/common/patch.js');
  const before = JSON.stringify(tree);
  try {
    const after = applyPatch(tree, operations);
    return { after: JSON.stringify(after), untouched: JSON.stringify(tree) === before };
  } catch (error) {
    return { refused: error instanceof PatchRefused, untouched: JSON.stringify(tree) === before };
  }
}"""


@pytest.fixture(scope="module")
def module_page(chromium):
    with running(empty_scene()) as address:
        page = chromium.new_page()
        page.goto(f"{address}/")
        yield page
        page.close()


def apply_in_browser(page, tree, operations):
    # As texts, because Playwright's own transfer of objects would lose a key called __proto__.
    return page.evaluate(
        f"async ([tree, operations]) => ({APPLY})([JSON.parse(tree), JSON.parse(operations)])",
        [json.dumps(tree), json.dumps(operations)],
    )


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(old=trees, new=trees)
def test_the_browser_applies_patches_as_the_server_means_them(module_page, old, new):
    operations = difference(old, new)
    answer = apply_in_browser(module_page, old, operations)
    assert json.loads(answer["after"]) == new == apply_patch(copy.deepcopy(old), operations)
    assert answer["untouched"]


@pytest.mark.parametrize(
    "operation",
    [
        ["delete", ["missing"]],
        ["set", ["missing", "deeper"], 1],
        ["append", ["object"], [1], 5],
        ["append", ["list"], [1], 0],
        ["splice", ["list"], 0, 9, []],
        ["splice", ["list"], -1, 0, []],
        ["splice", ["object"], 0, 0, []],
        ["append", ["list"], 7, 3],
        ["rename", ["list"], 1],
        ["delete", []],
        ["set", ["list", "0"], 1],
        ["set", ["object"]],
        [],
    ],
)
def test_what_the_server_refuses_the_browser_refuses_too_and_changes_nothing(module_page, operation):
    tree: JsonValue = {"list": [1, 2], "object": {"a": 1}}
    with pytest.raises(PatchRefused):
        apply_patch(copy.deepcopy(tree), [["set", ["object", "a"], 2], operation])
    answer = apply_in_browser(module_page, tree, [["set", ["object", "a"], 2], operation])
    assert answer == {"refused": True, "untouched": True}


def test_unchanged_parts_keep_their_identity_so_that_they_do_not_render_again(module_page):
    same = module_page.evaluate(
        """async () => {
          const { applyPatch } = await import('/static/common/patch.js');
          const old = { topics: { a: { queues: { 0: { max: 1 }, 1: { max: 5 } } }, b: {} } };
          const next = applyPatch(old, [['set', ['topics', 'a', 'queues', '0', 'max'], 2]]);
          return [next.topics.b === old.topics.b, next.topics.a.queues[1] === old.topics.a.queues[1],
                  next.topics.a.queues[0] !== old.topics.a.queues[0], next !== old];
        }"""
    )
    assert same == [True, True, True, True]


def test_a_missing_number_brings_a_snapshot(serve, open_page):
    """One patch is swallowed on its way into the page; the page must notice and end with the true state."""
    scene = small_scene(lively=False)
    address = serve(scene)
    page = open_page(f"{address}/")  # any page of the same origin, to prepare the next
    page.add_init_script(
        """window.sent = [];
        const send = WebSocket.prototype.send;
        WebSocket.prototype.send = function (data) {
          if (typeof data === 'string') window.sent.push(data);
          if (!this.hasFilter) {
            this.hasFilter = true;
            const deliver = this.onmessage;
            this.onmessage = (event) => {
              if (window.swallow && typeof event.data === 'string' && event.data.includes('"patch"')) {
                window.swallow -= 1;
                return;
              }
              deliver.call(this, event);
            };
          }
          return send.call(this, data);
        };"""
    )
    page.goto(f"{address}/live")
    live(page)
    page.wait_for_function("() => window.sent.some((text) => text.includes('acknowledge'))")
    page.evaluate("window.swallow = 1")
    scene.send("orders", "swallowed", 0)
    page.wait_for_function("() => window.swallow === 0")
    expect(page.locator("[data-queue='orders@0'] [data-cell=max]")).to_have_text("1,200")
    scene.send("orders", "seen", 1)
    expect(page.locator("[data-queue='orders@0'] [data-cell=max]")).to_have_text("1,201")
    expect(page.locator("[data-queue='orders@1'] [data-cell=max]")).to_have_text("1,201")
    assert page.evaluate("window.sent.filter((text) => text.includes('\"resync\"')).length") == 1


def test_the_banner_says_when_the_server_is_gone(open_page):
    with running(small_scene(lively=False)) as address:
        page = live(open_page(f"{address}/live"))
        page.context.set_offline(True)
        page.evaluate("() => undefined")
        expect(page.locator("#connection")).to_have_attribute("data-status", "reconnecting")
        expect(page.locator("#connection")).to_contain_text("Disconnected, reconnecting")
        page.context.set_offline(False)
        expect(page.locator("#connection")).to_have_attribute("data-status", "resynced")
    open_page.complaints.clear()  # the browser itself logs the connection that failed


@contextmanager
def scene_process(port: int, scene: str) -> Iterator[None]:
    """A page server as a process of its own, that a test can kill."""
    command = [sys.executable, "-m", "tests.e2e.scenes", "--scene", scene, "--http-port", str(port)]
    process = subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert "/live" in process.stdout.readline()
        yield
    finally:
        process.kill()
        process.communicate()


def test_a_page_finds_its_killed_server_again_and_shows_the_new_state(open_page):
    port = free_port()
    with scene_process(port, "small"):
        page = live(open_page(f"http://127.0.0.1:{port}/live"))
        expect(page.locator("[data-topic=orders]")).to_have_count(1)
    expect(page.locator("#connection")).to_contain_text("Disconnected, reconnecting")
    expect(page.locator("[data-topic=orders]")).to_have_count(1)  # the last known state stays to be read
    with scene_process(port, "empty"):
        expect(page.locator("#connection")).to_have_attribute("data-status", "resynced")
        expect(page.locator("[data-topic=orders]")).to_have_count(0)
        page.close()  # before this server goes too
    open_page.complaints.clear()  # the browser itself logs the connections that failed


def test_the_history_begins_with_the_broker(module_page):
    seconds = module_page.evaluate(
        """async () => {
          const { historyOf } = await import('/static/common/cluster/history.js');
          return historyOf({ seconds: [998, 999, 1000, 1001], in_messages: [0, 0, 3, 4] }, 1000400);
        }"""
    )
    assert (seconds["seconds"], seconds["in_messages"]) == ([1000, 1001], [3, 4])


def test_the_history_goes_on_when_the_brokers_clock_was_set_back(module_page):
    history = module_page.evaluate(
        """async () => {
          const { historyOf, withSecond } = await import('/static/common/cluster/history.js');
          const before = historyOf({ seconds: [100, 101, 102, 103], in_messages: [1, 2, 3, 4] });
          return withSecond(before, { second: 102, in_messages: 9 });
        }"""
    )
    assert (history["seconds"], history["in_messages"]) == ([100, 101, 102], [1, 2, 9])
