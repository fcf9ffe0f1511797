"""GlassMQ for tests: a broker that can be asked what it has, waited for, and checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Unpack

from engine.broker.broker import Broker
from engine.broker.foundation.errors import BrokerConfigRefused
from engine.protocol.body.topic_config import TopicConfig
from engine.protocol.errors import ProtocolError
from engine.protocol.message.message import MessageExt
from engine.protocol.names import dlq_topic, is_dlq_topic, is_retry_topic, is_system_topic, validate_topic
from engine.testkit.clock_steps import ClockSteps
from engine.testkit.embedded_broker import BrokerParameters, EmbeddedBroker
from engine.testkit.errors import TestKitError, check_may_block
from engine.testkit.failure_text import message_table, nearest_misses, table, what_was_there
from engine.testkit.faults import Faults
from engine.testkit.group_state import GroupState, QueueLock, groups_of, known_group, locks_of, progress_of
from engine.testkit.stored_messages import Selection, count_of, messages_of, undecided_half_messages
from engine.texts import Text

#: Seconds that a test waits by default. A client confirms what it consumed every five seconds.
TIMEOUT_S = 10.0
#: Seconds that clients may take for what they do in return for one step of the clock.
SETTLE_S = 0.5
ADVANCE_MAX_MS = 366 * 86_400_000
#: Seconds after which setting the clock ahead is given up.
ADVANCE_TIMEOUT_S = 300.0


class GlassMQ(EmbeddedBroker):
    """A name server and a broker in this process, for tests. Any thread may call its methods.

    ``with GlassMQ() as glassmq:`` runs it; pytest's fixtures do so themselves. Methods that wait block their thread;
    in a coroutine, ``await asyncio.to_thread(glassmq.wait_for, "orders")``.

    :ivar faults: what to break.
    """

    def __init__(self, *, fail_unhit: bool = True, **parameters: Unpack[BrokerParameters]) -> None:
        """Make a broker. ``fail_unhit``: a fault rule that acted on no frame fails its test."""
        super().__init__(**parameters)
        self.faults = Faults(self, fail_unhit=fail_unhit)

    def reset(self) -> None:
        """Replace the broker by an empty one at the same addresses, without faults and with the real time.

        Connections are closed; clients that are still there connect again.
        """
        super().reset()
        self.faults.forget()

    def __enter__(self) -> GlassMQ:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    # --- preparing ----------------------------------------------------------------------------------------------------

    def create_topic(self, topic: str, queues: int = 4) -> None:
        """Create a topic, so that consumers which start before the first message need not wait for it.

        A client that asks for the route of a missing topic asks again after 30 s only. Raises :class:`TestKitError`.
        """

        async def create() -> None:
            broker = self._broker()
            if queues < 1:
                raise TestKitError(Text("testkit.no_queues", topic=topic, queues=queues))
            try:
                validate_topic(topic)
                await broker.topic_config_manager.update_topic_config(TopicConfig(topic, queues, queues))
            except (ProtocolError, BrokerConfigRefused) as error:
                raise TestKitError(str(error)) from error
            await broker.registration.registered()

        self._run(create(), TIMEOUT_S)

    # --- asking -------------------------------------------------------------------------------------------------------

    def messages(self, topic: str) -> list[MessageExt]:
        """Return the messages of ``topic``, in the order in which the broker stored them, with decompressed bodies."""
        return self.ask(lambda broker: messages_of(broker, topic))

    def dead_letters(self, group: str) -> list[MessageExt]:
        """Return the messages that ``group`` could not consume after all retries."""
        return self.messages(dlq_topic(group))

    def half_messages(self) -> list[MessageExt]:
        """Return the half messages of transactions that are not decided yet."""
        return self.ask(undecided_half_messages)

    def groups(self) -> dict[str, GroupState]:
        """Return the groups of consumers and producers that the broker knows, by name."""
        return self.ask(groups_of)

    def lag(self, group: str, topic: str | None = None) -> int:
        """Return how many messages ``group`` has not confirmed yet, in one topic, or in all that it reads.

        A group that has confirmed nothing and has no consumers reads nothing: name the topic.
        A message on its way through a delay level counts once it is back in the retry topic. Clients confirm every
        five seconds by default. Raises :class:`TestKitError` for a group that the broker has never heard of.
        """
        return sum(queue.lag for queue in self.ask(lambda broker: progress_of(broker, group, topic)))

    def locks(self, group: str) -> list[QueueLock]:
        """Return the queues that members of ``group`` have locked for ordered consumption.

        Raises :class:`TestKitError` for a group that the broker has never heard of.
        """

        def locks(broker: Broker) -> list[QueueLock]:
            known_group(broker, group)
            return locks_of(broker, group)

        return self.ask(locks)

    # --- time ---------------------------------------------------------------------------------------------------------

    def advance(
        self,
        *,
        days: float = 0,
        hours: float = 0,
        minutes: float = 0,
        seconds: float = 0,
        liveness: bool = False,
        settle: float = SETTLE_S,
    ) -> None:
        """Set the broker's clock ahead, from one due time to the next, until all of this has passed.

        Delay levels, retries, check-backs and lock leases move with it; between two steps clients may react for
        ``settle`` seconds, and for less as soon as they have. With ``liveness`` clients look silent for this long, too.
        ``reset`` sets the clock back.
        """
        check_may_block("glassmq.advance")
        wanted_s = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
        if not 1 <= wanted_s * 1_000 <= ADVANCE_MAX_MS:
            raise TestKitError(Text("testkit.advance", seconds=f"{wanted_s:g}"))
        ms = round(wanted_s * 1_000)
        if not 0 <= settle <= ADVANCE_TIMEOUT_S:
            raise TestKitError(Text("testkit.settle", settle=f"{settle:g}", limit=f"{ADVANCE_TIMEOUT_S:g}"))

        async def steps() -> None:
            self._broker()
            await ClockSteps(self._machines, liveness=liveness, settle_s=settle).advance(ms)

        self._run(steps(), ADVANCE_TIMEOUT_S)

    # --- waiting and checking -----------------------------------------------------------------------------------------

    def wait_for(
        self,
        topic: str,
        count: int = 1,
        timeout: float = TIMEOUT_S,
        *,
        key: str | None = None,
        tag: str | None = None,
        body: bytes | str | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> list[MessageExt]:
        """Wait until ``topic`` has at least ``count`` such messages, and return all such.

        Raises ``AssertionError`` after ``timeout`` seconds, with a table of what is there.
        """
        check_may_block("glassmq.wait_for")
        wanted = Selection(key, tag, body, properties)
        self._until(lambda broker: self._count(broker, topic, wanted) >= count, timeout)
        return self._checked(topic, wanted, lambda found: found >= count, f"at least {count}", timeout)

    def assert_sent(
        self,
        topic: str,
        *,
        key: str | None = None,
        tag: str | None = None,
        body: bytes | str | None = None,
        properties: Mapping[str, str] | None = None,
        count: int | None = None,
    ) -> list[MessageExt]:
        """Check that ``topic`` has such messages now: at least one, or exactly ``count``; return them."""
        wanted = Selection(key, tag, body, properties)
        is_right = _right_number(count)
        return self._checked(topic, wanted, is_right, "a message" if count is None else f"exactly {count}")

    def assert_dead_letter(
        self,
        group: str,
        *,
        key: str | None = None,
        tag: str | None = None,
        body: bytes | str | None = None,
        properties: Mapping[str, str] | None = None,
        count: int | None = None,
        timeout: float = 0,
    ) -> list[MessageExt]:
        """Check that ``group`` has such dead letters, at the latest after ``timeout`` seconds; return them."""
        wanted, topic = Selection(key, tag, body, properties), dlq_topic(group)
        is_right = _right_number(count)
        if timeout:
            check_may_block("glassmq.assert_dead_letter")
            self._until(lambda broker: is_right(self._count(broker, topic, wanted)), timeout)
        said = "a dead letter" if count is None else f"exactly {count} dead letters"
        return self._checked(topic, wanted, is_right, said, timeout)

    def assert_consumed(
        self,
        group: str,
        topic: str,
        *,
        key: str | None = None,
        tag: str | None = None,
        body: bytes | str | None = None,
        properties: Mapping[str, str] | None = None,
        timeout: float = TIMEOUT_S,
    ) -> None:
        """Check that ``group`` has confirmed all such messages of ``topic``, of which there is at least one.

        A message that failed and was sent back for a retry counts as confirmed here: it is in the retry topic then.
        """
        check_may_block("glassmq.assert_consumed")
        wanted = Selection(key, tag, body, properties)
        self.assert_sent(topic, key=key, tag=tag, body=body, properties=properties)
        self._until(lambda broker: not _unconfirmed(broker, group, topic, wanted), timeout)
        left, queues = self.ask(
            lambda broker: (_unconfirmed(broker, group, topic, wanted), _progress_table(broker, group, topic))
        )
        if left:
            raise AssertionError(
                f"{group} has not confirmed {len(left)} of {topic}{wanted} after {timeout:g} s:\n"
                f"{message_table(left)}\n{queues}"
            )

    def assert_order(self, topic: str, keys: Sequence[str]) -> None:
        """Check that messages with these keys are in one queue of ``topic`` in this order; others may be between.

        Where a key occurs several times, its first message counts.
        """
        wanted = {key: Selection(key) for key in keys}
        if isinstance(keys, str) or len(keys) < 2 or len(wanted) < len(keys):
            raise TestKitError(Text("testkit.order_keys", keys=repr(keys)))
        there = self.messages(topic)
        first = {key: next((one for one in there if not of_key.misses(one)), None) for key, of_key in wanted.items()}
        found = [message for message in first.values() if message is not None]
        missing = [key for key, message in first.items() if message is None]
        places = [(message.queue_id, message.queue_offset) for message in found]
        if missing:
            problem = f"{', '.join(missing)} not sent"
        elif len(dict.fromkeys(queue_id for queue_id, _ in places)) > 1:
            problem = "in different queues, which have no order among each other"
        elif places != sorted(places):
            problem = "in another order"
        else:
            return
        stored = sorted(found, key=lambda message: message.commit_log_offset)
        raise AssertionError(
            f"{topic} does not have {', '.join(keys)} in this order: {problem}\n{message_table(stored or there)}"
        )

    # --- inside -------------------------------------------------------------------------------------------------------

    def _until(self, condition: Callable[[Broker], bool], timeout_s: float) -> None:
        """Wait for ``condition``, no longer than this. While the broker is crashed it is not true."""
        self.until(lambda: self._machines.broker_runs and condition(self._machines.broker), timeout_s)

    def _count(self, broker: Broker, topic: str, wanted: Selection) -> int:
        if not wanted.wanted:
            return count_of(broker, topic)
        return sum(not wanted.misses(message) for message in messages_of(broker, topic))

    def _checked(
        self, topic: str, wanted: Selection, is_right: Callable[[int], bool], said: str, waited_s: float = 0
    ) -> list[MessageExt]:
        """Return the wanted messages. Raises ``AssertionError`` if their number is not right."""
        there = self.messages(topic)
        found = [message for message in there if not wanted.misses(message)]
        if is_right(len(found)):
            return found
        topics, everywhere = self.ask(partial(_everywhere, wanted=wanted))
        is_alone = self.ask(lambda broker: not broker.server.channels)
        clients = f", and no client is connected: is its name server {self.name_server_address}?" if is_alone else ""
        after = f" after {waited_s:g} s" if waited_s else ""
        raise AssertionError(
            f"{topic} does not have {said}{wanted}, but {len(found)}{after}"
            f"{what_was_there(topic, there, wanted, topics, clients)}{nearest_misses(topic, wanted, everywhere)}"
        )


def _right_number(count: int | None) -> Callable[[int], bool]:
    """Return the test of a number: exactly ``count``, or any but none."""
    return lambda found: found > 0 if count is None else found == count


def _unconfirmed(broker: Broker, group: str, topic: str, wanted: Selection) -> list[MessageExt]:
    offsets = broker.consumer_offset_manager.offsets_of(group, topic)
    return [
        message
        for message in messages_of(broker, topic)
        if not wanted.misses(message) and message.queue_offset >= offsets.get(message.queue_id, 0)
    ]


def _progress_table(broker: Broker, group: str, topic: str) -> str:
    if group not in groups_of(broker):
        return f"the broker has never heard of group {group}; it knows {', '.join(groups_of(broker)) or 'none'}"
    rows = [(queue.queue_id, queue.end, queue.committed, queue.lag) for queue in progress_of(broker, group, topic)]
    return table(("queue", "end", "confirmed", "lag"), rows)


def _everywhere(broker: Broker, wanted: Selection) -> tuple[list[tuple[str, int]], list[MessageExt]]:
    """Return the topics with their numbers of messages, and the messages that may be near misses."""
    names = [topic for topic in broker.store.topics() if not is_system_topic(topic)]
    topics = [(name, count_of(broker, name)) for name in names]
    if not wanted.wanted:
        return topics, []
    # What returned to a group, or died there, was sent to another topic before.
    sent = [name for name in names if not is_retry_topic(name) and not is_dlq_topic(name)]
    return topics, [message for name in sent for message in messages_of(broker, name)]
