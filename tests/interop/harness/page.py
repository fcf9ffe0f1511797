"""What the page server of the broker under test tells of connected clients."""

from __future__ import annotations

import json
import re
import urllib.request
from collections.abc import Callable
from typing import Any

import pytest

from tests.interop.harness.cluster import Cluster
from tests.support.waiting import wait_until


def page_of(cluster: Cluster) -> str:
    """Where it is, without a slash at the end."""
    cluster.wait_until_started()
    page = re.search(r"^\s*page\s+(http\S+?)/?\s*$", cluster.processes[0].output(), re.MULTILINE)
    if page is None:
        pytest.skip("a real RocketMQ has no page")
    return page[1]


def member_when(cluster: Cluster, group: str, condition: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """The only member of ``group``, as ``/api/live/clients`` has it, as soon as ``condition`` holds of it."""
    address, found = f"{page_of(cluster)}/api/live/clients?group={group}", {}

    def is_there() -> bool:
        with urllib.request.urlopen(address, timeout=60) as answer:
            members = json.load(answer)["members"]
        found.update(members[0] if members else {})
        return len(members) == 1 and condition(members[0])

    wait_until(is_there, f"the member of {group} to tell it", 60.0)
    return found
