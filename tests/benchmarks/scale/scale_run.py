"""``make bench BENCH=scale``: what many queues, connections and messages cost, and a start after kill -9.

One ``glassmq serve`` gets 10,000 queues, then 2,000 consumers that wait, then ten million messages of 128 bytes in
batches. At each step: memory, the latency of pulls at random places and of deliveries to a pull that waits, and for
twelve seconds (long enough for everything that happens each ten seconds) sends one after the other, while topics are
created. Then a browser looks on; then the process is killed at rest and started again, killed just after more messages
and started again, and every message read back. It is a measurement, not a test: it never fails because of a number, but
it does when a message is missing.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.benchmarks.document import machine, parse_with_document, publish
from tests.benchmarks.scale.scale_client import BODY_BYTES, Client, Queue, read_all, send_all, waiting_consumer
from tests.benchmarks.scale.scale_page import PageFigures, look_at_page
from tests.interop.harness.cluster import Cluster
from tests.interop.harness.glassmq_cluster import start_glassmq
from tests.interop.harness.page import page_of

_MARK = "make bench scale"
_QUEUES_PER_TOPIC = 4
#: Of the queues get no message but those that the measurement sends: consumers wait at them.
_QUIET_PART = 5
#: Messages that are sent just before the kill.
_LAST_PART = 20
_MEMBERS_PER_GROUP = 20
_CONNECTING_AT_ONCE = 50
_PULLS, _DELIVERIES = 1_000, 200
_SENDS_FOR_S, _CREATIONS = 12.0, 10
_PROBE: Queue = ("Probe", 0)
_LIVE: Queue = ("Probe", 1)
_PROBE_MESSAGES = 1_000


@dataclass(frozen=True)
class Times:
    """Milliseconds: the middle one, 99 of 100, the longest."""

    median: float
    most: float
    worst: float

    @classmethod
    def of(cls, seconds: list[float]) -> Times:
        ordered = sorted(second * 1_000 for second in seconds)
        return cls(statistics.median(ordered), ordered[int(len(ordered) * 0.99)], ordered[-1])

    def __str__(self) -> str:
        return f"{self.median:.1f} / {self.most:.1f} / {self.worst:.1f}"


@dataclass(frozen=True)
class Step:
    """What was measured after one step.

    :ivar resident_mib: with the pages of mapped files, which the kernel may take back at any time.
    :ivar own_mib: without them.
    """

    name: str
    resident_mib: float
    own_mib: float
    pulls: Times
    deliveries: Times
    creations: Times
    sends: Times

    def row(self) -> str:
        cells = (f"{self.own_mib:.0f} / {self.resident_mib:.0f}", self.pulls, self.deliveries, self.sends)
        return f"| {' | '.join(map(str, (self.name, *cells, self.creations)))} |"


@dataclass(frozen=True)
class Restart:
    """Seconds from the start command after a kill -9."""

    when: str
    accepted_send_s: float
    answered_pull_s: float


@dataclass
class Bench:
    """A running broker and what it has been given so far."""

    cluster: Cluster
    options: argparse.Namespace
    steps: list[Step] = field(default_factory=list)
    topics: list[str] = field(default_factory=list)
    sent: dict[Queue, int] = field(default_factory=dict)
    messages: int = 0
    send_rate: float = 0.0
    created: int = 0
    consumers: list[asyncio.Task[None]] = field(default_factory=list)
    restarts: list[Restart] = field(default_factory=list)
    #: Always the same places, so that runs compare.
    chance: random.Random = field(default_factory=lambda: random.Random(1))

    def queues(self, *, quiet: bool) -> list[Queue]:
        """Those at which consumers wait, or those that are filled."""
        cut = len(self.topics) // _QUIET_PART
        topics = self.topics[:cut] if quiet else self.topics[cut:]
        return [(topic, queue_id) for topic in topics for queue_id in range(_QUEUES_PER_TOPIC)]

    # --- steps -------------------------------------------------------------------------------------------------------

    async def prepare(self) -> None:
        """A topic with a few messages, so that an empty broker has something to pull, too."""
        client = await Client.connect(self.cluster.broker)
        await client.create_topic(_PROBE[0], 2)
        for _ in range(_PROBE_MESSAGES):
            await client.send(_PROBE)
        client.close()

    async def create_queues(self, count: int) -> None:
        client = await Client.connect(self.cluster.broker)
        names = [f"Scale{number:05d}" for number in range(len(self.topics), count // _QUEUES_PER_TOPIC)]
        reported = _progress("topics", len(names))
        for number, name in enumerate(names, 1):
            await client.create_topic(name, _QUEUES_PER_TOPIC)
            reported(number)
        client.close()
        self.topics += names

    async def connect(self, count: int) -> None:
        """Consumers that wait, each at a queue, as far as there are enough."""
        queues, reported = self.queues(quiet=True), _progress("connections", count)
        for first in range(0, count, _CONNECTING_AT_ONCE):
            parked = []
            for number in range(first, min(count, first + _CONNECTING_AT_ONCE)):
                parked.append(asyncio.Event())
                group, queue = f"scale-{number // _MEMBERS_PER_GROUP:03d}", queues[number % len(queues)]
                waiting = waiting_consumer(self.cluster.broker, group, number, queue, parked[-1])
                self.consumers.append(asyncio.create_task(waiting))
            await asyncio.gather(*(event.wait() for event in parked))
            reported(first + len(parked))

    async def store(self, messages: int) -> None:
        """Send until there are this many messages."""
        started, count = time.monotonic(), messages - self.messages
        queues = self.queues(quiet=False)
        sent = await send_all(self.cluster.broker, queues, self.messages, count, _progress("messages", count))
        rate = count / (time.monotonic() - started)
        self.send_rate = max(rate, self.send_rate)
        for queue, number in sent.items():
            if number:
                self.sent[queue] = self.sent.get(queue, 0) + number
        self.messages = messages

    # --- measuring ---------------------------------------------------------------------------------------------------

    async def measure(self, name: str) -> None:
        for consumer in self.consumers:
            if consumer.done():
                consumer.result()  # raises what ended it
        resident, own = memory_mib(self.cluster.processes[0].process_id)
        client = await Client.connect(self.cluster.broker)
        pulls = Times.of([await self._timed_pull(client) for _ in range(_PULLS)])
        other = await Client.connect(self.cluster.broker)
        deliveries = Times.of([await self._timed_delivery(client, other) for _ in range(_DELIVERIES)])
        sends: list[float] = []
        sending = asyncio.create_task(self._send_on(other, sends))
        creations = [await self._timed_creation(client) for _ in range(_CREATIONS)]
        await sending
        client.close()
        other.close()
        step = Step(name, resident, own, pulls, deliveries, Times.of(creations), Times.of(sends))
        self.steps.append(step)
        print(step.row(), file=sys.stderr)

    async def _timed_pull(self, client: Client) -> float:
        queue, end = _PROBE, _PROBE_MESSAGES
        if self.sent:
            queue = self.chance.choice(list(self.sent))
            end = self.sent[queue]
        offset = self.chance.randrange(end)
        started = time.perf_counter()
        await client.pull(queue, offset)
        return time.perf_counter() - started

    async def _timed_delivery(self, client: Client, sender: Client) -> float:
        """From the send to the answer of the pull that waits."""
        waits = client.park("scale", _LIVE, await client.end_offset(_LIVE))
        await client.end_offset(_LIVE)  # answered after the pull: it waits now
        started = time.perf_counter()
        sent = asyncio.ensure_future(sender.send(_LIVE))
        await waits
        taken = time.perf_counter() - started
        await sent
        return taken

    async def _timed_creation(self, client: Client) -> float:
        await asyncio.sleep(_SENDS_FOR_S / _CREATIONS)
        self.created += 1
        started = time.perf_counter()
        await client.create_topic(_extra_topic(self.created), _QUEUES_PER_TOPIC)
        return time.perf_counter() - started

    async def _send_on(self, client: Client, taken: list[float]) -> None:
        ends_at = time.monotonic() + _SENDS_FOR_S
        while time.monotonic() < ends_at:
            started = time.perf_counter()
            await client.send(_PROBE)
            taken.append(time.perf_counter() - started)
            await asyncio.sleep(0.001)

    def memory(self) -> str:
        """What one more of each costs, as far as the steps tell."""
        empty, _, queues, connections, few, many = (step.own_mib for step in self.steps[:6])
        options = self.options
        per_queue_kib = (queues - empty + few - connections) * 1024 / options.queues
        per_connection_kib = (connections - queues) * 1024 / options.connections
        per_million_mib = (many - few) * 1e6 / (options.messages - options.messages // 10)
        return (
            f"Memory: {per_queue_kib:.1f} KiB a queue, {per_connection_kib:.1f} KiB a connection whose pull waits, "
            f"{per_million_mib:.1f} MiB a million messages."
        )

    # --- the end -----------------------------------------------------------------------------------------------------

    async def kill_and_start(self, folder: Path, name: str) -> None:
        """Kill -9, immediately after one more topic, and start again."""
        client = await Client.connect(self.cluster.broker)
        await self._timed_creation(client)
        client.close()
        await self.disconnect()
        killed = self.cluster
        killed.processes[0].kill()
        started = time.monotonic()
        self.cluster = await asyncio.to_thread(
            start_glassmq, folder, killed.name_server_port, killed.broker_port, options=_server_options(self.options)
        )
        client = await Client.connect(self.cluster.broker)
        await client.send(_PROBE)
        sent_s = time.monotonic() - started
        await self._timed_pull(client)
        self.restarts.append(Restart(name, sent_s, time.monotonic() - started))
        client.close()
        print(self.restarts[-1], file=sys.stderr)

    async def disconnect(self) -> None:
        """Disconnect all consumers that wait."""
        for consumer in self.consumers:
            consumer.cancel()
        await asyncio.gather(*self.consumers, return_exceptions=True)
        self.consumers.clear()

    async def check(self) -> None:
        """Raises AssertionError when a topic or a message is missing, or a message there twice."""
        client = await Client.connect(self.cluster.broker)
        known = await client.topics()
        client.close()
        lost = [topic for topic in (*self.topics, *map(_extra_topic, range(1, self.created + 1))) if topic not in known]
        assert not lost, f"topics {', '.join(lost)} are missing"
        found = await read_all(self.cluster.broker, self.sent, self.messages, _progress("read back", self.messages))
        missing, twice = found.count(0), self.messages - found.count(0) - found.count(1)
        assert missing == twice == 0, f"{missing} of {self.messages} messages are missing, {twice} are there twice"


def _extra_topic(number: int) -> str:
    return f"Extra{number:05d}"


def memory_mib(process_id: int) -> tuple[float, float]:
    """Resident memory with and without the pages of files (Linux)."""
    status = Path(f"/proc/{process_id}/status").read_text("ascii")
    fields = dict(re.findall(r"^(VmRSS|RssAnon):\s+(\d+) kB$", status, re.MULTILINE))
    return int(fields["VmRSS"]) / 1024, int(fields["RssAnon"]) / 1024


def _progress(what: str, total: int) -> Callable[[int], None]:
    shown_at = time.monotonic()

    def reported(done: int) -> None:
        nonlocal shown_at
        if time.monotonic() - shown_at > 5 or done == total:
            shown_at = time.monotonic()
            print(f"  {what}: {done:,} of {total:,}", file=sys.stderr, flush=True)

    return reported


def _server_options(options: argparse.Namespace) -> list[str]:
    return ["--interpreted"] if options.interpreted else []


async def measure_all(folder: Path, options: argparse.Namespace) -> tuple[Bench, PageFigures | None]:
    """All steps. Raises AssertionError when a message is missing at the end."""
    cluster = await asyncio.to_thread(start_glassmq, folder, options=_server_options(options))
    bench = Bench(cluster, options)
    try:
        await bench.prepare()
        await bench.measure("empty")
        for count in dict.fromkeys((options.queues // 10, options.queues)):
            await bench.create_queues(count)
            await bench.measure(f"{count:,} queues")
        await bench.connect(options.connections)
        await bench.measure(f"{options.connections:,} connections")
        for count in dict.fromkeys((options.messages // 10, options.messages)):
            await bench.store(count)
            await bench.measure(f"{count:,} messages")
        page = None
        if options.page:
            page = await look_at_page(page_of(bench.cluster), cluster.processes[0], options.picture)
        await bench.kill_and_start(folder, "at rest")
        await bench.measure("started again")
        await bench.store(options.messages + options.messages // _LAST_PART)
        await bench.kill_and_start(folder, f"after {options.messages // _LAST_PART:,} messages just sent")
        await bench.check()
    finally:
        await bench.disconnect()
        bench.cluster.stop()
    return bench, page


def as_markdown(bench: Bench, page: PageFigures | None) -> str:
    """Tables and sentences."""
    form = re.search(r"^\s*form\s+(\w+)", bench.cluster.processes[0].output(), re.MULTILINE)
    head = (
        f"{machine()}, {form[1] if form else 'interpreted'}; {_QUEUES_PER_TOPIC} queues a topic, bodies of "
        f"{BODY_BYTES} bytes; times in ms: median / 99 of 100 / worst."
    )
    restarts = ", ".join(
        f"{one.when} {one.accepted_send_s:.1f} s to the first accepted send and {one.answered_pull_s:.1f} s to a pull"
        for one in bench.restarts
    )
    end = (
        f"{bench.memory()} "
        f"Messages were stored at up to {bench.send_rate:,.0f} a second. Started after kill -9: {restarts}; every "
        "topic was there, and every message once."
    )
    lines = [
        head,
        "",
        "| step | memory, MiB: own / with files | pull | delivery | sends meanwhile | one topic created |",
        "|---|---:|---:|---:|---:|---:|",
        *(step.row() for step in bench.steps),
        "",
        end,
    ]
    return "\n".join([*lines, *([] if page is None else ["", page.sentence()])]) + "\n"


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queues", type=int, default=10_000, help="(default 10000)")
    parser.add_argument("--connections", type=int, default=2_000, help="(default 2000)")
    parser.add_argument("--messages", type=int, default=10_000_000, help="(default ten million)")
    parser.add_argument("--interpreted", action="store_true", help="measure the source, not the compiled form")
    parser.add_argument("--no-page", dest="page", action="store_false", help="without Chromium")
    parser.add_argument("--picture", type=Path, help="keep a picture of the page here")
    parser.add_argument("--folder", type=Path, help="for the data, several GB (default: a temporary one)")
    options = parse_with_document(parser, arguments, [_MARK])
    least = {"queues": 200, "connections": 1, "messages": 10_000}
    for name, number in least.items():
        if getattr(options, name) < number:
            parser.error(f"--{name}: at least {number}")
    return options


def main(arguments: list[str]) -> int:
    """Measure and print; ``--write`` writes the same into a document."""
    options = parse_arguments(arguments)
    with tempfile.TemporaryDirectory(prefix="glassmq-bench-", dir=options.folder) as name:
        text = as_markdown(*asyncio.run(measure_all(Path(name), options)))
    publish(options.write, _MARK, text)
    return 0
