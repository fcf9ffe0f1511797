"""How many bytes a visit loads, in Chromium: all that is sent, with its headers."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from tests.e2e.scenes import empty_scene

FIRST_VISIT_MAX_BYTES = 500_000
SECOND_VISIT_MAX_BYTES = 60_000


def loaded_bytes(page: Page, address: str) -> int:
    """Bytes that Chromium receives while it opens ``address``, until nothing is on its way any more."""
    sizes: list[int] = []
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    session.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
    page.goto(address, wait_until="networkidle")
    session.detach()
    return sum(sizes)


@pytest.mark.parametrize("path", ["/lab", "/lab/three-locks"])
def test_a_visit_of_the_lab_loads_little_and_a_second_one_next_to_nothing(serve, open_page, path):
    address = f"{serve(empty_scene())}{path}"
    page = open_page("about:blank")
    assert 0 < loaded_bytes(page, address) < FIRST_VISIT_MAX_BYTES
    page.goto("about:blank")
    assert 0 < loaded_bytes(page, address) < SECOND_VISIT_MAX_BYTES
