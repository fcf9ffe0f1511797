"""The site in the browser: its copy for use offline, newer versions, and files that are damaged."""

from __future__ import annotations

import json
import os
import re
from contextlib import contextmanager

import pytest
from playwright.sync_api import expect

from app.site.build import digests
from tests.e2e.lab.lab_page import expect_event, opened
from tests.e2e.site.site_page import STARTED_WITHIN_MS, ask


@contextmanager
def kept(*files):
    """The host has these files again at the end, with the times that they had."""
    contents = [(file, file.read_bytes(), file.stat().st_mtime_ns) for file in files]
    try:
        yield
    finally:
        for file, content, time_ns in contents:
            file.write_bytes(content)
            os.utime(file, ns=(time_ns, time_ns))


@pytest.mark.parametrize("path", ["lab/three-locks", "tutorials/04-three-locks"])
def test_the_copy_for_use_offline_waits_until_the_page_has_its_python(site, open_page, path):
    page = open_page("about:blank")
    page.set_default_timeout(STARTED_WITHIN_MS)
    held = []

    def hold(route):
        held.append(route)

    page.context.route("**/glassmq.zst", hold)
    page.goto(f"{site}/{path}/")
    page.wait_for_selector("html[data-worker=python]")
    expect(page.locator(".site-progress")).to_have_text(
        re.compile(r"^1 of 3: Python is loading … [0-9.]+ / [0-9.]+ MB$")
    )
    assert page.evaluate("async () => (await navigator.serviceWorker.getRegistrations()).length") == 0
    held.pop().continue_()
    page.context.unroute_all()
    opened(page)
    page.wait_for_selector("html[data-offline=ready]")


def test_the_whole_site_works_offline_after_a_visit_and_offers_a_newer_version(site, folder, open_page):
    first = open_page(f"{site}/lab/")
    first.set_default_timeout(STARTED_WITHIN_MS)
    first.wait_for_selector("html[data-offline=ready]")
    first.evaluate("globalThis.isOfTheOldVersion = true")
    page = first.context.new_page()
    page.set_default_timeout(STARTED_WITHIN_MS)
    page.context.set_offline(True)
    page.goto(f"{site}/tutorials?from=a-server")
    expect(page).to_have_url(f"{site}/tutorials/?from=a-server")
    expect(page.locator("[data-lesson='04-three-locks']")).to_be_visible()
    page.goto(f"{site}/lab/three-locks/index.html")
    opened(page)
    page.locator("#control-step").click()
    expect_event(page, 1)
    assert "cannot be shown" in ask(page, site, "/api/lab/source?file=engine%2Fbroker%2Fbroker.py")["why"]
    page.context.set_offline(False)

    list_file, manifest, worker = (folder / name for name in ("lab/index.html", "files.json", "service_worker.js"))
    with kept(list_file, manifest, worker):
        newer = list_file.read_text(encoding="utf-8").replace("<h1>The lab</h1>", "<h1>The newer lab</h1>")
        list_file.write_text(newer, encoding="utf-8")
        manifest.write_text(json.dumps({"files": digests(folder)}))
        script = worker.read_text(encoding="utf-8")
        worker.write_text(re.sub(r'VERSION = "[^"]+"', 'VERSION = "newer"', script, count=1))
        page.goto(f"{site}/lab/")
        heading = page.get_by_role("heading", level=1)
        expect(heading).to_have_text("The lab")
        page.locator(".site-progress button").click()
        expect(heading).to_have_text("The newer lab")
        first.wait_for_function("() => !globalThis.isOfTheOldVersion")


def test_a_damaged_copy_says_so_and_is_loaded_again(site, open_page):
    page = open_page(f"{site}/lab/")
    page.set_default_timeout(STARTED_WITHIN_MS)
    page.wait_for_selector("html[data-offline=ready]")
    page.evaluate("""async () => {
      for (const name of await caches.keys()) {
        const cache = await caches.open(name);
        for (const { url } of await cache.keys())
          if (url.endsWith("/glassmq.zst")) await cache.put(url, new Response("damaged"));
      }
    }""")
    page.goto(f"{site}/lab/three-locks/")
    line = page.locator(".site-progress")
    expect(line).to_contain_text("could not be started", timeout=STARTED_WITHIN_MS)
    page.context.set_offline(True)
    line.get_by_role("button").click()
    expect(line).to_contain_text("Nothing was removed")
    assert page.evaluate("caches.keys()") != []
    page.context.set_offline(False)
    line.get_by_role("button").click()
    opened(page)
    open_page.complaints.clear()  # the host that did not answer


def test_pages_come_from_the_host_where_the_browser_cannot_read_its_copies(site, folder, open_page):
    worker = folder / "service_worker.js"
    broken = """const VERSION = "broken";
let isCopied = false;
const { open } = caches;
caches.open = (name) => isCopied ? Promise.reject(new Error("damaged")) : open.call(caches, name);
self.addEventListener("activate", () => (isCopied = true));
"""
    with kept(worker):
        worker.write_text(broken + worker.read_text(encoding="utf-8").partition("\n")[2], encoding="utf-8")
        page = open_page(f"{site}/lab/")
        page.wait_for_selector("html[data-offline=ready]", timeout=STARTED_WITHIN_MS)
        page.goto(f"{site}/tutorials/")
        expect(page.locator("[data-lesson='04-three-locks']")).to_be_visible()


@contextmanager
def other_file(folder, pattern, content):
    """The host has other content under the address of a file that Python consists of; None: it has no such file."""
    (file,) = (folder / "python").glob(pattern)
    with kept(file):
        file.unlink()
        if content is not None:
            file.write_bytes(content)
        yield


def test_webassembly_comes_from_the_http_cache_of_the_browser_and_else_from_the_copy(site, folder, open_page):
    page = open_page(f"{site}/lab/")
    page.set_default_timeout(STARTED_WITHIN_MS)
    page.wait_for_selector("html[data-offline=ready]")
    answers = []
    page.on("response", lambda each: answers.append((each.url.rpartition("/")[2], each.from_service_worker)))
    page.goto(f"{site}/lab/three-locks/")
    opened(page)
    assert [each for each in answers if ".wasm" in each[0]] == [("pyodide.asm.wasm", False)]
    assert ("glassmq.zst", True) in answers

    with other_file(folder, "*/pyodide.asm.wasm", None):
        page.context.new_cdp_session(page).send("Network.clearBrowserCache")
        page.reload()
        opened(page)
    assert answers.count(("pyodide.asm.wasm?copy", True)) == 1
    assert all("404" in complaint for complaint in open_page.complaints)
    open_page.complaints.clear()


@pytest.mark.parametrize("pattern", ["*/pyodide.asm.wasm", "glassmq.zst", "*/python_stdlib.zip"])
def test_a_damaged_file_in_the_cache_of_the_browser_says_so_and_is_loaded_again(site, folder, open_page, pattern):
    page = open_page("about:blank")
    page.set_default_timeout(STARTED_WITHIN_MS)
    with other_file(folder, pattern, b"damaged"):
        page.goto(f"{site}/lab/three-locks/")
        expect(page.locator(".site-progress")).to_contain_text("could not be started", timeout=STARTED_WITHIN_MS)
    page.locator(".site-progress button").click()
    opened(page)
    open_page.complaints.clear()
