"""Every copy of every message that the brokers of a world store: the source of a message's life and of dead letters.

A message that is retried is stored again at each step: in the topic of delayed messages, in the retry topic, in the
dead-letter topic. Its key and unique id stay the same, and its properties say where it came from.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.observation.message_life import copy_view
from app.observation.unix_time import world_us
from engine.protocol.message.message_copies import kind_of_copy

if TYPE_CHECKING:
    from app.observation.message_life import StoredCopyView
    from engine.lab.nodes.broker_node import BrokerNode
    from engine.lab.witness.logged_message import LoggedMessage
    from engine.lab.world.world import ScenarioWorld
    from engine.store.message_store import MessageStore


class BrokerCopies:
    """The copies of one broker over all its processes, from the witness's account of its log."""

    def __init__(self, world: ScenarioWorld, role: BrokerNode) -> None:
        self._role = role
        self._log = world.witness.broker_log(role)
        self._end_offset = 0
        self._losses = 0
        #: The view of each message, with the clock as it was when it was first seen.
        self._views: dict[LoggedMessage, StoredCopyView | None] = {}
        #: Dead letters of all groups.
        self.dead: list[StoredCopyView] = []
        #: Copies that a power cut has taken.
        self.lost: list[StoredCopyView] = []
        #: Offset message id of a dead letter -> the copy as which it was resent.
        self.resent: dict[str, StoredCopyView] = {}

    def read_on(self) -> tuple[list[StoredCopyView], bool]:
        """Return the copies that are new since the last call; or, if older ones are gone, all, and True."""
        if not self._log.read_on():
            return [], False
        is_less = len(self._log.lost) > self._losses
        if is_less:
            self.lost += self._views_of(self._log.lost[self._losses :])
            self._losses = len(self._log.lost)
            self._end_offset, self.resent, self.dead = 0, {}, []
        fresh = self._views_of(self._log.after(self._end_offset))
        self._end_offset = self._log.end_offset
        for copy in fresh:
            if copy.resends:
                # A power cut may take the resent message and leave a retry of it that its consumer sent later.
                self.resent.setdefault(copy.resends, copy)
            elif copy.kind == "dead":
                self.dead.append(copy)
        return fresh, is_less

    def _views_of(self, messages: Sequence[LoggedMessage]) -> list[StoredCopyView]:
        for message in messages:
            if message not in self._views:
                self._views[message] = self._view_of(message)
        return [view for message in messages if (view := self._views[message]) is not None]

    def _view_of(self, message: LoggedMessage) -> StoredCopyView | None:
        """Return the view; None for a message that the scenario's clients did not send."""
        kind = kind_of_copy(message)
        if kind is None or not message.first_key:
            return None
        store, begin_ms = self._store, self._role.runtime.clock.begin_ms
        copy = copy_view(
            message,
            kind,
            message.broker,
            message.first_key,
            lambda timestamp_ms: world_us(timestamp_ms, begin_ms),
            store.config.delay_levels_ms,
        )
        dead = store.message_at(message.commit_log_offset) if kind == "dead" else None
        return copy if dead is None else copy._replace(dead=dead)

    @property
    def _store(self) -> MessageStore:
        assert self._role.broker is not None, "the log is read while the broker runs"
        return self._role.broker.store
