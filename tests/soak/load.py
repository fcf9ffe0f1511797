"""The load itself: starts everything, does what the plan says, follows what clients report, waits for the rest."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from engine.client.consumer.default_mq_pull_consumer import DefaultMQPullConsumer
from engine.client.consumer.pull_result import PullStatus
from engine.protocol.body.message_queue import MessageQueue
from tests.interop.harness.process import ProcessFailed
from tests.interop.harness.wire import create_topic
from tests.soak.clients import SoakClients
from tests.soak.history import History, Kill, Sample, SendWindow, percentile
from tests.soak.plan import Plan
from tests.soak.soaked_broker import SoakedBroker
from tests.soak.streams import FLOOD, QUEUES, UNREAD_TOPIC, Fate, Stream, StreamLedger
from tests.soak.watch import PageWatch, ProcessLook
from tests.support.waiting import wait_until

_LOOK_EVERY_S = 1.0
_SEND_WINDOW_S = 5.0
_PROGRESS_EVERY_S = 15.0
_START_DEADLINE_S = 90.0
#: For what the groups still have to consume when nothing is sent any more: retries and check-backs take a while.
_DRAIN_DEADLINE_S = 180.0


class Load:
    """One soak of one broker. ``say`` tells the person who waits."""

    def __init__(
        self, broker: SoakedBroker, clients: SoakClients, plan: Plan, streams: list[Stream], say: Callable[[str], None]
    ) -> None:
        self._broker = broker
        self._clients = clients
        self._plan = plan
        self._say = say
        self._ledgers = {stream.name: StreamLedger(stream) for stream in streams}
        self.history = History(plan.warm_up_s, list(self._ledgers.values()))
        self._page = PageWatch(broker)
        self._begun = 0.0
        self._said_s = self._windowed_s = 0.0

    def run(self, flood_messages: int, slow_readers: int) -> None:
        """All of it; what was seen is in ``history``, also of a run that ends before its time."""
        seconds = self._broker.start()
        self._say(f"the broker serves after {seconds:.1f} s; page http://{self._broker.page}/")
        for ledger in self.history.ledgers:
            create_topic(self._broker.name_server, self._broker.broker, ledger.stream.topic, QUEUES)
        create_topic(self._broker.name_server, self._broker.broker, UNREAD_TOPIC, 1)
        streams = [ledger.stream for ledger in self.history.ledgers if ledger.stream != FLOOD]
        self._clients.start(streams, flood_messages, self._plan.flood_every_s, slow_readers)
        wait_until(self._everybody_sends, "every sender to have a first acknowledgement", _START_DEADLINE_S, self._mute)
        self._begun = time.monotonic()
        self._page.start()
        try:
            try:
                self._follow_the_plan()
            finally:
                self.history.loaded_s = self._now_s()
            self._drain(streams)
        finally:
            self._page.stop()
            self._take_the_page()
        asyncio.run(self._find_what_is_stored())

    # --- the plan

    def _follow_the_plan(self) -> None:
        actions = [(at_s, self._kill_and_start) for at_s in self._plan.kills_s]
        if self._broker.disk.can_be_filled:
            from_s, until_s = self._plan.disk_full_s
            actions += [(from_s, self._fill_the_disk), (until_s, self._free_the_disk)]
        actions.sort(key=lambda action: action[0])
        while self._now_s() < self._plan.duration_s:
            if actions and actions[0][0] <= self._now_s():
                actions.pop(0)[1]()
            self._look("load")
        if self.history.disk_full is not None:
            self._broker.disk.free()

    def _kill_and_start(self) -> None:
        at_s = self._now_s()
        self._broker.kill()
        start_s = self._broker.start()
        self.history.kills.append(Kill(at_s, start_s))
        self._say(f"{_clock(at_s)}  kill -9; served again after {start_s:.1f} s")

    def _fill_the_disk(self) -> None:
        self._broker.disk.fill()
        from_s, until_s = self._plan.disk_full_s
        self.history.disk_full = (self._now_s(), self._now_s() + until_s - from_s)
        self._say(f"{_clock(self._now_s())}  the disk is full")

    def _free_the_disk(self) -> None:
        self._broker.disk.free()
        assert self.history.disk_full is not None
        self.history.disk_full = (self.history.disk_full[0], self._now_s())
        self._say(f"{_clock(self._now_s())}  the disk has room again")

    # --- looking

    def _look(self, phase: str) -> None:
        """One round of about a second: new events, one sample, now and then a line for who waits.

        Raises :class:`ProcessFailed` when the broker is not there though nobody killed it.
        """
        begun = time.monotonic()
        self._take_events()
        process = self._broker.process
        if not process.is_running:
            raise ProcessFailed(f"the broker ended by itself ({process.exit_code})\n{process.output_end(500)}")
        look = ProcessLook.of(process, self._broker.disk.folder / "data")
        self.history.samples.append(
            Sample(
                self._now_s(),
                len(self._broker.lives) - 1,
                look.own_mib if look else None,
                look.resident_mib if look else None,
                look.fds if look else None,
                self._broker.disk.used_bytes() / 2**20,
                self._page.lag,
                sum(ledger.acknowledged for ledger in self.history.ledgers),
                sum(ledger.consumed for ledger in self.history.ledgers),
            )
        )
        if self._now_s() - self._windowed_s >= _SEND_WINDOW_S:
            self._end_window()
        if self._now_s() - self._said_s >= _PROGRESS_EVERY_S:
            self._said_s = self._now_s()
            self._say(f"{_clock(self._now_s())}  {phase}: {self._progress()}")
        time.sleep(max(0.0, begun + _LOOK_EVERY_S - time.monotonic()))

    def _take_events(self) -> None:
        for client in self._clients.everyone:
            for event in client.new_events():
                if event["event"] == "burst":
                    for first, behind in event["runs"]:
                        self._ledgers[FLOOD.name].note_run(first, behind, Fate.ACKNOWLEDGED)
                elif event["event"] == "cut":
                    self.history.readers_cut += 1
                elif event["stream"] in self._ledgers:
                    self._ledgers[event["stream"]].note(event)

    def _end_window(self) -> None:
        taken: list[float] = []
        for ledger in self.history.ledgers:
            taken += ledger.latencies_ms
            del ledger.latencies_ms[:]
        if taken:
            self.history.sends.append(SendWindow(self._windowed_s, percentile(taken, 0.5), percentile(taken, 0.99)))
        self._windowed_s = self._now_s()

    def _progress(self) -> str:
        sample = self.history.samples[-1]
        doubt = sum(ledger.in_doubt for ledger in self.history.ledgers)
        return (
            f"{sample.acknowledged:,} acknowledged, {sample.consumed:,} consumed, {doubt:,} in doubt, "
            f"lag {sample.lag:,}, memory {sample.own_mib or 0:.0f} MiB, {sample.fds} descriptors, "
            f"disk {sample.disk_mib:.0f} MiB"
        )

    # --- beginning and end

    def _everybody_sends(self) -> bool:
        self._take_events()
        return all(ledger.acknowledged for ledger in self.history.ledgers if ledger.stream != FLOOD)

    def _mute(self) -> str:
        mute = [ledger.stream.name for ledger in self.history.ledgers if not ledger.acknowledged]
        return "\n".join([f"nothing from: {', '.join(mute)}", *self._clients.ended_early()])

    def _drain(self, streams: list[Stream]) -> None:
        """Until every group has consumed what was acknowledged, or time is up: what is missing then, the judge says."""
        self.history.ended_early = self._clients.ended_early()
        for client in self._clients.senders:
            client.end_sending()
        if self._clients.slow_reader is not None:
            self._clients.slow_reader.process.stop()
        ends_at = time.monotonic() + _DRAIN_DEADLINE_S
        waiting = streams
        while waiting and time.monotonic() < ends_at:
            self._look("draining")
            waiting = [s for s in waiting if self._ledgers[s.name].lost(Fate.CONSUMED)]

    async def _find_what_is_stored(self) -> None:
        """Read every topic to its end, as an auditor who trusts nobody."""
        async with DefaultMQPullConsumer(None, "soak_auditor", (self._broker.name_server,)) as consumer:
            for ledger in self.history.ledgers:
                queues = await consumer.fetch_subscribe_message_queues(ledger.stream.topic)
                found = sum([await self._read_queue(consumer, queue, ledger) for queue in queues])
                self._say(f"audit: {found:,} messages stored in {ledger.stream.topic}")

    async def _read_queue(self, consumer: DefaultMQPullConsumer, queue: MessageQueue, ledger: StreamLedger) -> int:
        offset, end, found = await consumer.min_offset(queue), await consumer.max_offset(queue), 0
        while offset < end:
            result = await consumer.pull(queue, offset=offset)
            if result.status is PullStatus.FOUND:
                for message in result.messages:
                    ledger.stored(int(message.properties["number"]))
                found += len(result.messages)
            elif result.next_begin_offset <= offset:
                break  # what is missing, the judge says
            offset = result.next_begin_offset
        return found

    def _take_the_page(self) -> None:
        self.history.page_answers = [(at - self._begun, ms) for at, ms in list(self._page.answers)]
        self.history.page_updates = [at - self._begun for at in list(self._page.updates)]

    def _now_s(self) -> float:
        return time.monotonic() - self._begun


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60:3}:{int(seconds) % 60:02}"
