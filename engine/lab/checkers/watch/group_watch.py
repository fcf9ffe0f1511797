"""Consumption of one clustering group, and the outcome of messages that it failed to consume."""

from __future__ import annotations

from engine.filter.compiler import compile_expression
from engine.filter.expression import Expression
from engine.lab.scenario.scenario import NodeSpec
from engine.lab.witness.logged_message import LoggedMessage
from engine.protocol.body.subscription_data import SubscriptionData, build_subscription_data
from engine.protocol.enums import ExpressionType
from engine.protocol.names import dlq_topic, retry_topic

#: (broker, topic, queue id, queue offset)
Position = tuple[str, str, int, int]


class GroupWatch:
    """One group; all members are expected to have the same subscription.

    :ivar members: names of the nodes.
    :ivar is_consistent: whether they have: same topic, same expression, all clustering. Otherwise RocketMQ promises
        nothing.
    :ivar positions: how often each position was consumed successfully.
    :ivar consumed: unique keys of messages with a successful delivery.
    :ivar copies: unique key -> greatest retry count of a copy that was stored for the group.
    :ivar dead: unique key -> the copy in the dead-letter topic, until it is resent by hand.
    :ivar lost: unique keys of messages that a power cut was allowed to take, or a copy of which it took.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.retry_topic = retry_topic(name)
        self.dead_letter_topic = dlq_topic(name)
        self.members: list[NodeSpec] = []
        self.topic = ""
        self.subscription: SubscriptionData | None = None
        self.is_consistent = True
        self.positions: dict[Position, None] = {}
        self.consumed: dict[str, None] = {}
        self.copies: dict[str, int] = {}
        self.dead: dict[str, LoggedMessage] = {}
        self.lost: dict[str, None] = {}
        #: (broker, unique key) -> where in the log the dead letter is that was resent: earlier copies are settled.
        self._resent: dict[tuple[str, str], int] = {}
        #: The expression of a group that filters; (broker, position in the log) -> whether a message matches it.
        self._condition: Expression | None = None
        self._filtered: dict[tuple[str, int], bool] = {}

    def add(self, spec: NodeSpec) -> None:
        """Add a member."""
        subscription = build_subscription_data(spec.topic, spec.expression, expression_type=spec.expression_type)
        if spec.expression_type is ExpressionType.SQL92:
            self._condition = compile_expression(spec.expression)
        if self.subscription is None:
            self.topic, self.subscription = spec.topic, subscription
        elif self.subscription != subscription:
            self.is_consistent = False
        if spec.model != "clustering":
            self.is_consistent = False
        self.members.append(spec)

    @property
    def begins_at_first(self) -> bool:
        """Return whether a group without stored offsets begins with the first message."""
        return all(spec.consume_from == "first" for spec in self.members)

    def wants(self, message: LoggedMessage) -> bool:
        """Return whether the message is for this group: of its topic and matching its expression, or a retry of its
        own.
        """
        if message.destination == self.retry_topic:
            return True
        subscription = self.subscription
        return (
            subscription is not None
            and message.destination == self.topic
            and subscription.matches_tag(message.tags or None)
            and (self._condition is None or self._is_true(self._condition, message))
        )

    def _is_true(self, condition: Expression, message: LoggedMessage) -> bool:
        """Evaluate the expression; the result is cached."""
        place = message.broker, message.commit_log_offset
        wanted = self._filtered.get(place)
        if wanted is None:
            wanted = self._filtered[place] = condition.matches(message.properties)
        return wanted

    def dead_letter_resent(self, broker: str, message: LoggedMessage) -> None:
        """Note that ``message`` was stored by hand for a dead letter, perhaps one of this group: its retries begin
        again.
        """
        dead = self.dead.get(message.unique_key)
        if dead is not None and (dead.broker, dead.commit_log_offset) == (broker, message.resends):
            del self.dead[message.unique_key]
            self._resent[broker, message.unique_key] = message.resends
            self.copies[message.unique_key] = message.reconsume_times

    def is_settled(self, message: LoggedMessage) -> bool:
        """Return whether the group has finished this delivery: it was consumed, or given back and stored as a copy."""
        key = message.unique_key
        return (
            (message.broker, *message.place) in self.positions
            or key in self.consumed
            or key in self.dead
            or self.copies.get(key, -1) > message.reconsume_times
            or self._resent.get((message.broker, key), -1) > message.commit_log_offset
        )
