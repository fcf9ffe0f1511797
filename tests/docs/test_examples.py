"""The programs in ``docs/examples`` print what their documentation promises, against a broker of this process."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from docs.examples import (
    batch_consumer,
    batch_producer,
    filter_by_sql_consumer,
    filter_by_sql_producer,
    filter_by_tag_consumer,
    filter_by_tag_producer,
    local_transaction_executer,
    some_consumer,
    transaction_producer,
)
from engine.broker.foundation.broker_config import BrokerConfig
from tests.support.live.live_cluster import until
from tests.support.live.live_server import LiveServer

PROJECT = Path(__file__).parents[2]
EXAMPLES = PROJECT / "docs" / "examples"


@pytest.fixture
def name_server(tmp_path: Path) -> Iterator[str]:
    """The address of a broker's own; its topics exist, so that consumers need not wait for their first message."""
    quick = BrokerConfig(
        port=0, enable_property_filter=True, transaction_time_out_ms=100, transaction_check_interval_ms=100
    )
    with LiveServer(tmp_path / "data", page=False, broker=quick) as live:
        for topic in ("TTopic", "someTopic", "myTopic"):
            live.create_topic(topic, 4)
        yield live.name_servers[0]


class Printed:
    """What was printed so far, in lines."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self._text = ""

    @property
    def lines(self) -> list[str]:
        self._text += self._capsys.readouterr().out
        return self._text.splitlines()

    def starting(self, start: str) -> list[str]:
        return [line for line in self.lines if line.startswith(start)]

    async def wait(self, count: int, start: str) -> None:
        await until(lambda: len(self.starting(start)) >= count)


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str]) -> Printed:
    return Printed(capsys)


@asynccontextmanager
async def running(*programs: Coroutine[None, None, None]) -> AsyncIterator[None]:
    """Programs that run until they are stopped."""
    tasks = [asyncio.create_task(program) for program in programs]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(end, asyncio.CancelledError) for end in ended), ended


def test_a_transfer_is_consumed_once_its_local_transaction_is_known_to_be_committed(name_server, printed):
    async def programs() -> None:
        async with running(some_consumer.main(name_server), transaction_producer.main(name_server)):
            await printed.wait(2, "Hi,")

    asyncio.run(programs())
    assert printed.starting("half message stored:") == [
        f"half message stored: Hi,{number} {tag}" for number, tag in enumerate(("TAGA", "TAGB", "TAGC"))
    ]
    assert printed.starting("sent:") == ["sent: SEND_OK"] * 3
    assert set(printed.starting("checked:")) == {"checked: Hi,2 TAGC"}
    assert sorted(printed.starting("Hi,")) == ["Hi,0 TAGA", "Hi,2 TAGC"]


def test_an_executer_per_send_decides_and_what_it_leaves_open_is_checked(name_server, printed):
    async def programs() -> None:
        async with running(some_consumer.main(name_server), local_transaction_executer.main(name_server)):
            await printed.wait(3, "transfer ")

    asyncio.run(programs())
    assert printed.starting("TAG") == ["TAGA COMMIT_MESSAGE", "TAGB ROLLBACK_MESSAGE", "TAGC UNKNOW", "TAGD UNKNOW"]
    assert set(printed.starting("checked")) == {"checked TAGC", "checked TAGD"}
    assert sorted(printed.starting("transfer")) == ["transfer TAGA", "transfer TAGC", "transfer TAGD"]


def test_a_batch_comes_in_calls_of_ten_messages(name_server, printed):
    def messages() -> int:
        return sum(int(line.split()[3]) for line in printed.starting("a call with "))

    async def programs() -> None:
        await batch_producer.main(name_server)
        async with running(batch_consumer.main(name_server)):
            await until(lambda: messages() == 100)

    asyncio.run(programs())
    assert printed.starting("a batch of") == ["a batch of 100 messages: SEND_OK"]
    # A call has messages of one pull, which brings 32 at most.
    assert sorted(int(line.split()[3]) for line in printed.starting("a call with ")) == [2, 2, 2, 4] + [10] * 9


def test_each_filter_lets_its_messages_through(name_server, printed):
    async def programs() -> None:
        await filter_by_tag_producer.main(name_server)
        await filter_by_sql_producer.main(name_server)
        async with running(filter_by_tag_consumer.main(name_server), filter_by_sql_consumer.main(name_server)):
            await printed.wait(14, "Hi,")

    asyncio.run(programs())
    assert len(printed.starting("SEND_OK")) == 20
    by_tag = [f"Hi,{number} myTag{'ABC'[number % 3]}" for number in range(10) if number % 3 < 2]
    assert sorted(printed.starting("Hi,")) == sorted([*by_tag, *(f"Hi,{age} age {age}" for age in range(7))])


def test_an_example_takes_the_address_as_an_argument_and_ends_quietly_at_ctrl_c(name_server):
    environment = {**os.environ, "PYTHONPATH": str(PROJECT), "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, EXAMPLES / "some_consumer.py", name_server]
    # What is begun in the background ignores Ctrl-C, and so would its children.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    finally:
        signal.signal(signal.SIGINT, before)
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "Consumer started\n"
        process.send_signal(signal.SIGINT)
        _, complaints = process.communicate(timeout=60)
    assert (process.returncode, complaints) == (0, "")


def test_the_table_has_every_program():
    table = (EXAMPLES / "README.md").read_text("utf-8")
    programs = {*EXAMPLES.glob("*.py"), *(PROJECT / "tests" / "interop" / "java" / "articles").glob("*.java")}
    named = {(EXAMPLES / link).resolve() for link in re.findall(r"\]\(([\w./]+\.(?:py|java))\)", table)}
    assert programs <= named
