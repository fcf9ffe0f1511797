"""Activity of a consumer or a producer of a lab world, in figures that can be compared between runs.

Counted while the engine runs: from the frames between client and broker, and from the history of what the client saw.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.message.message_codec import decode_messages
from engine.protocol.names import is_retry_topic
from engine.protocol.request_code import SENDS, RequestCode
from engine.protocol.response_code import ResponseCode
from engine.runtime.lab.lab_link_fault import Parcel

if TYPE_CHECKING:
    from engine.lab.nodes.history import ConsumeBegan, ConsumeEnded
    from engine.lab.witness.frame_log import FrameLog
    from engine.lab.world.world import ScenarioWorld


class ConsumerFigures(NamedTuple):
    """Activity of one consumer. Times are virtual.

    :ivar messages: different messages that it consumed successfully.
    :ivar seconds: from its first listener call until it was done with nine tenths of them: a few that are retried
        later would hide how fast the others were.
    :ivar per_second: nine tenths of the messages by seconds.
    :ivar pulls: replies with messages that the broker sent it, those of the retry topic left out.
    :ivar largest_pull: most messages in one of them.
    :ivar pull_ms: how long such a reply was under way, on the average.
    :ivar pulled_again: messages that the broker sent a second time, because a reply was lost or the consumer was
        restarted.
    :ivar calls: listener calls.
    :ivar threads_busy: how many ran at a time, on the average over ``seconds``.
    :ivar consumed_again: messages that a listener got although it had got them before.
    :ivar without_need: those of them that the listener had nothing against the first time.
    :ivar never_consumed: messages that it got and never consumed successfully.
    """

    messages: int
    seconds: float
    per_second: float
    pulls: int
    largest_pull: int
    pull_ms: float
    pulled_again: int
    calls: int
    threads_busy: float
    consumed_again: int
    without_need: int
    never_consumed: int


class ProducerFigures(NamedTuple):
    """Activity of one producer. Times are virtual.

    :ivar messages: acknowledged messages.
    :ivar seconds: from the begin of its first send to the end of its last.
    :ivar per_second: messages by seconds.
    :ivar requests: send requests that left it, tries again included.
    :ivar bytes_per_message: of these requests, on the average.
    :ivar reply_ms: how long a message waited for its acknowledgement, on the average.
    :ivar not_acknowledged: messages that were refused, or of which it does not know.
    """

    messages: int
    seconds: float
    per_second: float
    requests: int
    bytes_per_message: float
    reply_ms: float
    not_acknowledged: int


class ConsumerMeter:
    """Measure a consumer from the first event on."""

    def __init__(self, world: ScenarioWorld, name: str) -> None:
        self._world = world
        self._name = name
        self._pull_sizes: list[int] = []
        self._reply_us: list[int] = []
        #: How often the broker sent each message, by (broker, topic, queue id, offset).
        self._sent: Counter[tuple[str, str, int, int]] = Counter()
        world.watch_parcels(self._note)

    def _note(self, parcel: Parcel, delays_us: tuple[int, ...]) -> None:
        if parcel.target != self._name:
            return
        sent = self._world.witness.frames
        command = _command(sent)
        if command is None or not command.is_response or command.code != ResponseCode.SUCCESS:
            return
        if sent.request_name_of(sent.newest) == RequestCode.PULL_MESSAGE.name:
            self._note_messages(parcel.source, command.body, delays_us)

    def _note_messages(self, broker: str, body: bytes, delays_us: tuple[int, ...]) -> None:
        messages = decode_messages(body, decompress=False)
        if is_retry_topic(messages[0].topic):
            return
        self._pull_sizes.append(len(messages))
        self._reply_us.extend(delays_us)
        self._sent.update((broker, message.topic, message.queue_id, message.queue_offset) for message in messages)

    def figures(self) -> ConsumerFigures:
        """Return the figures of the client's activity so far."""
        name, seen = self._name, self._world.witness.deliveries
        began = [one.began for one in seen.all() if one.began.node == name]
        ended = [one for one in seen.ended() if one.began.node == name]
        done: dict[str, int] = {}
        for one in ended:
            if one.ended is not None and one.is_done:
                done.setdefault(one.ended.key, one.ended.time_us)
        most = -(-len(done) * 9 // 10)
        seconds = (sorted(done.values())[most - 1] - began[0].time_us) / 1e6 if done else 0.0
        deliveries = Counter(entry.key for entry in began)
        again = sum(deliveries.values()) - len(deliveries)
        willing = [key for key in deliveries if self._world.nodes[name].spec.accepts(key)]
        return ConsumerFigures(
            messages=len(done),
            seconds=round(seconds, 3),
            per_second=_per_second(most, seconds),
            pulls=len(self._pull_sizes),
            largest_pull=max(self._pull_sizes, default=0),
            pull_ms=_mean_ms(self._reply_us),
            pulled_again=sum(self._sent.values()) - len(self._sent),
            calls=_calls(began),
            threads_busy=_threads_busy(began, [one.ended for one in ended if one.ended is not None], seconds),
            consumed_again=again,
            without_need=sum(deliveries[key] - 1 for key in willing),
            never_consumed=len(deliveries) - len(done),
        )


class ProducerMeter:
    """Measure a producer from the first event on."""

    def __init__(self, world: ScenarioWorld, name: str) -> None:
        self._world = world
        self._name = name
        self._requests = 0
        self._bytes = 0
        world.watch_parcels(self._note)

    def _note(self, parcel: Parcel, delays_us: tuple[int, ...]) -> None:
        if parcel.source == self._name:
            command = _command(self._world.witness.frames)
            if command is not None and command.code in SENDS and not command.is_response:
                self._requests += 1
                self._bytes += len(parcel.data)

    def figures(self) -> ProducerFigures:
        """Return the figures of the client's activity so far."""
        history, name = self._world.history, self._name
        begun = {entry.key: entry.time_us for entry in history.sends_invoked if entry.node == name}
        ended = [entry for entry in history.sends_returned if entry.node == name]
        acknowledged = [entry for entry in ended if entry.status == "ok"]
        seconds = (max(entry.time_us for entry in ended) - min(begun.values())) / 1e6 if ended else 0.0
        return ProducerFigures(
            messages=len(acknowledged),
            seconds=round(seconds, 3),
            per_second=_per_second(len(acknowledged), seconds),
            requests=self._requests,
            bytes_per_message=round(self._bytes / max(1, len(begun)), 1),
            reply_ms=_mean_ms([entry.time_us - begun[entry.key] for entry in acknowledged]),
            not_acknowledged=len(ended) - len(acknowledged),
        )


#: What measures a client of each activity, in the order in which a comparison prefers them.
METERS: Mapping[str, type[ConsumerMeter] | type[ProducerMeter]] = {
    "consuming": ConsumerMeter,
    "sending": ProducerMeter,
}


def _calls(began: list[ConsumeBegan]) -> int:
    """Return the number of calls: messages of one call begin in the same event, and one event is of one worker."""
    return len({entry.event: None for entry in began})


def _threads_busy(began: list[ConsumeBegan], ended: list[ConsumeEnded], seconds: float) -> float:
    """Return the calls in progress, summed over the time since the first one began."""
    if not seconds:
        return 0.0
    # Messages of one call begin in one event, and end in one.
    moments = [(event, time_us, 1) for event, time_us in {entry.event: entry.time_us for entry in began}.items()]
    moments += [(event, time_us, -1) for event, time_us in {entry.event: entry.time_us for entry in ended}.items()]
    now_us = first_us = began[0].time_us
    last_us = first_us + round(seconds * 1e6)
    running = busy_us = 0
    for _, time_us, change in sorted(moments):
        until_us = min(time_us, last_us)
        busy_us += running * max(0, until_us - now_us)
        now_us = max(now_us, until_us)
        running += change
    return round(busy_us / (last_us - first_us), 1)


def _per_second(count: int, seconds: float) -> float:
    return round(count / seconds, 1) if seconds else 0.0


def _mean_ms(times_us: list[int]) -> float:
    return round(sum(times_us) / len(times_us) / 1_000, 1) if times_us else 0.0


def _command(sent: FrameLog) -> RemotingCommand | None:
    """Return the command that has just been sent; None if that was something else."""
    said = sent.reading(sent.newest)
    return None if said is None else said.command
