"""The table of the filter expressions of groups and topics (RocketMQ: ``ConsumerFilterManager``).

Heartbeats contain the expressions; the table keeps them parsed, even while the group is offline, so that the bit maps
of messages stored meanwhile include the group. Expressions of a group that has been offline for 24 h are deleted.

An expression is replaced only by one with a higher version, as subscriptions are. One that cannot be compiled is not
accepted, and removes its predecessor: the group's pulls then get code 27 with the error.

Different from RocketMQ: an expression is valid from the newest message's store time on, if the clock is earlier.
Otherwise, after a clock was set back, bit maps made for the old expression would be used for the new one, and hide
messages.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Container, Iterable, Iterator
from typing import Any

from engine.broker.filters.consumer_filter_data import ConsumerFilterData
from engine.broker.filters.expression_compiler import CompilerBusy, ExpressionCompiler
from engine.broker.foundation.broker_config import BrokerConfig
from engine.filter.bloom_filter import BloomFilter
from engine.filter.compiler import word_count
from engine.filter.errors import FilterSyntaxError
from engine.protocol.body.subscription_data import SubscriptionData
from engine.protocol.enums import ExpressionType
from engine.protocol.errors import MalformedBody
from engine.protocol.json_form.json_fields import as_object, get_object
from engine.runtime.port import Clock, DiskFault
from engine.store.files.config_file import ConfigFile

logger = logging.getLogger("glassmq.broker")

#: After a start every group counts as offline since this long before.
_DEAD_BEFORE_START_MS = 30_000


class ConsumerFilterManager:
    """The filter expressions by topic and group.

    :param config_file: ``consumerFilter.json``.
    :param bloom_filter: sizes of the bit maps.
    :param newest_store_time: returns the store time of the newest message, ms.
    :param config: bounds of the table and of all its expressions together, and how long those of an offline group are
        kept.
    :ivar compiler: compiles new expressions.
    """

    def __init__(
        self,
        clock: Clock,
        config_file: ConfigFile,
        bloom_filter: BloomFilter,
        newest_store_time: Callable[[], int],
        config: BrokerConfig,
    ) -> None:
        self.compiler = ExpressionCompiler(config.max_filter_words_per_second, clock.monotonic_us)
        self.bloom_filter = bloom_filter
        self._clock = clock
        self._config_file = config_file
        self._newest_store_time = newest_store_time
        self._clean_after_ms = config.filter_data_clean_time_span_ms
        self._max_entries = config.max_consumer_filters
        self._max_words = config.max_consumer_filter_words
        self._table: dict[str, dict[str, ConsumerFilterData]] = {}
        #: The same by group -> topic -> expression: a heartbeat may name a thousand groups, and each accesses its own.
        self._by_group: dict[str, dict[str, ConsumerFilterData]] = {}
        self._entries = 0
        self._words = 0
        self._is_changed = False

    def __len__(self) -> int:
        return self._entries

    def __iter__(self) -> Iterator[ConsumerFilterData]:
        for groups in self._table.values():
            yield from groups.values()

    def get(self, topic: str, group: str) -> ConsumerFilterData | None:
        """Return the expression of ``group`` on ``topic``, even while the group is offline."""
        groups = self._table.get(topic)
        return groups.get(group) if groups is not None else None

    def of_topic(self, topic: str) -> Iterable[ConsumerFilterData]:
        """Return all expressions on ``topic``, including dead ones."""
        return self._table.get(topic, {}).values()

    # ------------------------------------------------------------------------------ heartbeats

    def register(self, group: str, subscriptions: Iterable[SubscriptionData], connection: str) -> None:
        """Take over the subscriptions of a heartbeat of ``group`` on ``connection``; its other expressions are no
        longer in use.
        """
        filtered = {
            subscription.topic: subscription
            for subscription in subscriptions
            if subscription.expression_type == ExpressionType.SQL92
        }
        for subscription in filtered.values():
            self._register(group, subscription, connection)
        self._bury_others(group, filtered)

    def unregister(self, group: str) -> None:
        """Mark the expressions of ``group``, which has no members any more, as dead."""
        self._bury_others(group, ())

    def _register(self, group: str, subscription: SubscriptionData, connection: str) -> None:
        topic, expression, version = subscription.topic, subscription.sub_string, subscription.sub_version
        known = self.get(topic, group)
        if known is None or (version > known.client_version and expression != known.expression):
            self._replace(group, subscription, known, connection)
        elif version >= known.client_version and (version != known.client_version or known.is_dead):
            known.client_version = version
            known.dead_time = 0
            self._is_changed = True
        elif expression != known.expression:
            logger.info(
                "group %s on %s: the expression %r of version %d is not accepted, version %d is %r",
                group,
                topic,
                expression,
                version,
                known.client_version,
                known.expression,
            )

    def _replace(
        self, group: str, subscription: SubscriptionData, known: ConsumerFilterData | None, connection: str
    ) -> None:
        topic = subscription.topic
        try:
            data = self._checked(group, subscription, known, connection)
        except CompilerBusy as busy:
            # The group's former filter stays until its next heartbeat.
            logger.warning("group %s on %s: the expression is not accepted yet: %s", group, topic, busy)
            return
        except (FilterSyntaxError, MalformedBody) as error:
            logger.warning("group %s on %s: the expression is not accepted: %s", group, topic, error)
            if known is not None:
                self._remove(known)
            return
        data.bloom = self.bloom_filter.generate(f"{group}#{topic}")
        if known is not None:
            self._remove(known)
        self._add(data)
        self._is_changed = True
        before = f", before {known.expression!r}" if known is not None else ""
        logger.info("group %s filters %s by %r%s", group, topic, data.expression, before)

    def _checked(
        self, group: str, subscription: SubscriptionData, known: ConsumerFilterData | None, connection: str
    ) -> ConsumerFilterData:
        """Return the checked entry. Raises as :meth:`build`, and :class:`MalformedBody` if there is no room."""
        if self._entries - (known is not None) >= self._max_entries:
            raise MalformedBody(f"the broker keeps {self._max_entries} expressions already, which is the maximum")
        words = self._words - (known.words if known is not None else 0) + word_count(subscription.sub_string)
        if words > self._max_words:
            raise MalformedBody(f"all expressions together would have {words} words; allowed: {self._max_words}")
        return self.build(group, subscription, connection)

    def build(self, group: str, subscription: SubscriptionData, connection: str) -> ConsumerFilterData:
        """Create an entry for ``subscription`` that is not in the table. Raises :class:`FilterSyntaxError`,
        :class:`CompilerBusy`.
        """
        known, text = self.get(subscription.topic, group), subscription.sub_string
        return ConsumerFilterData(
            consumer_group=group,
            topic=subscription.topic,
            expression=text,
            compiled=known.compiled if known and known.expression == text else self.compiler.compile(text, connection),
            born_time=max(self._clock.now_ms(), self._newest_store_time()),
            client_version=subscription.sub_version,
        )

    def _add(self, data: ConsumerFilterData) -> None:
        self._table.setdefault(data.topic, {})[data.consumer_group] = data
        self._by_group.setdefault(data.consumer_group, {})[data.topic] = data
        self._entries += 1
        self._words += data.words

    def _remove(self, data: ConsumerFilterData) -> None:
        for table, key, inner in (
            (self._table, data.topic, data.consumer_group),
            (self._by_group, data.consumer_group, data.topic),
        ):
            del table[key][inner]
            if not table[key]:
                del table[key]
        self._entries -= 1
        self._words -= data.words
        self._is_changed = True

    def _bury_others(self, group: str, topics: Container[str]) -> None:
        for data in self._by_group.get(group, {}).values():
            if data.topic not in topics and not data.is_dead:
                self._bury(data)

    def _bury(self, data: ConsumerFilterData) -> None:
        data.dead_time = max(self._clock.now_ms(), data.born_time)
        self._is_changed = True
        logger.info("group %s does not filter %s any more", data.consumer_group, data.topic)

    # ------------------------------------------------------------------------------ the file

    def load(self) -> None:
        """Read ``consumerFilter.json``; invalid entries are left out with a warning.

        Entries made for bit maps of another size are all discarded, as in RocketMQ.
        """
        content = self._config_file.load()
        now_ms = self._clock.now_ms()
        entries = {(data.topic, data.consumer_group): data for data in self._entries_of(content or {})}
        if not all(self.bloom_filter.is_valid(data.bloom) for data in entries.values()):
            logger.warning("consumerFilter.json was made for bit maps of another size: it is not used")
            return
        for data in entries.values():
            if data.dead_time == 0:
                data.dead_time = max(data.born_time, now_ms - _DEAD_BEFORE_START_MS)
            self._add(data)

    def _entries_of(self, content: dict[str, Any]) -> Iterator[ConsumerFilterData]:
        topics = content.get("filterDataByTopic")
        for topic, by_topic in topics.items() if isinstance(topics, dict) else ():
            try:
                groups = get_object(as_object(by_topic), "groupFilterData")
            except MalformedBody as error:
                logger.warning("consumerFilter.json: topic %s is left out: %s", topic, error)
                self._config_file.keep_aside()
                continue
            for group, fields in groups.items():
                try:
                    yield ConsumerFilterData.from_dict(as_object(fields))
                except (MalformedBody, FilterSyntaxError) as error:
                    logger.warning("consumerFilter.json: %s of group %s is left out: %s", topic, group, error)
                    self._config_file.keep_aside()

    async def persist(self) -> None:
        """Delete what has been dead for too long, and write ``consumerFilter.json`` if anything changed.

        Raises ``DiskFault``.
        """
        self._clean()
        if self._is_changed:
            self._is_changed = False
            content = {"filterDataByTopic": self.to_dict()}
            try:
                await self._config_file.save_off_loop(lambda: content)
            except DiskFault:
                self._is_changed = True
                raise

    def to_dict(self) -> dict[str, object]:
        """Return the table as the JSON object of the file."""
        return {
            topic: {"groupFilterData": {group: data.to_dict() for group, data in groups.items()}, "topic": topic}
            for topic, groups in self._table.items()
        }

    def _clean(self) -> None:
        now_ms = self._clock.now_ms()
        for data in [data for data in self if data.is_dead and now_ms - data.dead_time >= self._clean_after_ms]:
            logger.info("the expression of group %s on %s is forgotten", data.consumer_group, data.topic)
            self._remove(data)
