"""What docs/semantics says of idempotence: its program runs as it stands there, its arithmetic is the broker's."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from engine.client.consumer.message_back_sender import FIRST_RETRY_DELAY_LEVEL
from engine.idempotence.idempotence_config import STRATEGIES
from engine.store.files.store_config import MessageStoreConfig
from tests.support.live.live_server import LiveServer

PROJECT = Path(__file__).parents[3]
FOLDER = PROJECT / "docs" / "semantics"
DOCUMENT = (FOLDER / "idempotence.md").read_text("utf-8")


def program(name: str) -> str:
    """The source under ``<!-- program: name -->``."""
    found = re.search(rf"^<!-- program: {re.escape(name)} -->\n```\w+\n(.*?)^```$", DOCUMENT, re.DOTALL | re.MULTILINE)
    assert found is not None
    return found[1]


def test_the_documented_program_takes_one_book_for_an_order_that_was_sent_twice(tmp_path):
    with LiveServer(tmp_path / "data", page=False) as live:
        live.create_topic("Orders", 1)
        source = program("orders_once.py")
        (tmp_path / "orders_once.py").write_text(source.replace("127.0.0.1:9876", live.name_servers[0]), "utf-8")
        environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
        run = [sys.executable, "orders_once.py"]
        done = subprocess.run(run, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60)
    printed = re.search(r"^prints `(.*)`", DOCUMENT, re.MULTILINE)
    assert printed is not None
    assert done.stdout.strip() == printed[1], done.stderr


def test_every_strategy_has_its_line_in_the_table():
    lines = re.findall(r"^\| `([a-z-]+)`", DOCUMENT.partition("## In Python")[0], re.MULTILINE)
    assert sorted(lines) == sorted(STRATEGIES)


def test_the_longest_expiry_is_the_sum_of_the_retries():
    delays_ms = MessageStoreConfig().delay_levels_ms[FIRST_RETRY_DELAY_LEVEL:]
    table = re.findall(r"^\| (\d+)(?:, as by default)? \| [\d:]+ (?:min|h) \| ([\d,]+) s \|$", DOCUMENT, re.MULTILINE)
    assert [int(limit) for limit, _ in table] == [3, 5, 6, 16]
    for limit, seconds in table:
        assert sum(delays_ms[: int(limit)]) == int(seconds.replace(",", "")) * 1_000
