"""The life of each message as lanes of events, from the moment it was produced: :mod:`app.picture.message_life`.

Clients and brokers are read forward only, each entry once. Messages without a key are left out.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from app.lab.foundation.bounds import LIFE_MARKS_SHOWN, LIVES_SHOWN, LIVES_TROUBLED_SHOWN
from app.lab.views.message_life import MessageLife, result_of
from app.lab.views.stored_copies import BrokerCopies
from app.observation.message_life import message_life_view
from engine.lab.nodes.broker_node import BrokerNode
from engine.lab.nodes.history import ConsumeBegan, SendInvoked, SendReturned

if TYPE_CHECKING:
    from app.observation.message_life import StoredCopyView
    from app.picture.message_life import FailedSend, LifeInGroup, MessageLives, ProducedMark, SendFailedMark
    from app.picture.message_life import MessageLife as MessageLifePicture
    from engine.lab.world.world import ScenarioWorld

_Entry = SendInvoked | SendReturned | ConsumeBegan


class LifeView:
    """The lives of one world's messages."""

    def __init__(self, world: ScenarioWorld) -> None:
        self._world = world
        self._deliveries = world.witness.deliveries
        self._read = [0, 0, 0]
        self._ends_read = 0
        #: Lives by key, in the order in which the messages were produced.
        self.lives: dict[str, MessageLife] = {}
        self._brokers: dict[str, BrokerCopies] = {}
        #: Lives that have changed since they were last shown or left out.
        self._changed: dict[str, MessageLife] = {}
        self._troubled: dict[str, None] = {}
        self._chosen: list[MessageLife] = []
        #: (Topic, group) -> expression of its newest member there, and the number of nodes at which it was read.
        self._subscriptions: tuple[int, dict[tuple[str, str], str]] = (-1, {})

    def build(self) -> MessageLives:
        """Return the lives. What did not change is the same object as before."""
        self.read_on()
        shown = self._choose()
        return {
            "total": len(self.lives),
            "in_trouble": len(self._troubled),
            "omitted": len(self.lives) - len(shown),
            "messages": {life.key: self._message(life) for life in shown},
        }

    def find(self, text: str, limit: int) -> list[MessageLifePicture]:
        """Return the newest messages whose keys contain ``text``, at most ``limit``, the newest one last."""
        self.read_on()
        self._judge()
        found = [life for key, life in self.lives.items() if text.casefold() in key.casefold()]
        return [self._message(life) for life in found[-limit:]]

    def last_result(self, key: str, group: str, until_us: int) -> str | None:
        """Return the result of the group's last call with the message that began before ``until_us``; None when there
        is no such call.
        """
        life = self.lives.get(key)
        calls = [one for one in life.deliveries if one.began.group == group] if life is not None else []
        return next((result_of(one) for one in reversed(calls) if one.began.time_us <= until_us), None)

    def copies_of(self, broker: str) -> BrokerCopies | None:
        """Return the copies on the broker, as of the last reading."""
        return self._brokers.get(broker)

    # ------------------------------------------------------------------------------ reading

    def read_on(self) -> None:
        """Read what has happened since the last reading."""
        history = self._world.history
        lists: tuple[Sequence[_Entry], ...] = (
            history.sends_invoked,
            history.sends_returned,
            history.consumes_began,
        )
        fresh = [entries[start:] for entries, start in zip(lists, self._read, strict=True)]
        self._read = [len(entries) for entries in lists]
        for entry in heapq.merge(*fresh, key=lambda entry: entry.event):
            self._take(entry)
        ended = self._deliveries.ended()
        for delivery in ended[self._ends_read :]:
            self._touch(self.lives[delivery.began.key])
        self._ends_read = len(ended)
        self._read_brokers()

    def _take(self, entry: _Entry) -> None:
        match entry:
            case SendInvoked():
                self._send_invoked(entry)
            case SendReturned():
                self._send_returned(entry)
            case ConsumeBegan():
                self._life(entry.key, entry.topic, entry.time_us)

    def _life(self, key: str, topic: str, at_us: int) -> MessageLife:
        life = self.lives.get(key)
        if life is None:
            life = self.lives[key] = MessageLife(key, topic, at_us, self._deliveries.of(key))
        self._touch(life)
        return life

    def _touch(self, life: MessageLife) -> None:
        life.has_changed = True
        self._changed[life.key] = life

    def _read_brokers(self) -> None:
        for role in self._world.brokers():
            copies = self._brokers.get(role.name)
            if copies is None:
                copies = self._brokers[role.name] = BrokerCopies(self._world, role)
            fresh, is_less = copies.read_on()
            if is_less:
                for life in self.lives.values():
                    life.forget_copies(role.name)
                    self._touch(life)
                for copy in copies.lost:
                    self._life(copy.key, copy.first_topic, copy.stored_us).copies.append((copy, True))
            for copy in fresh:
                self._life(copy.key, copy.first_topic, copy.stored_us).copies.append((copy, False))

    def _send_invoked(self, entry: SendInvoked) -> None:
        life = self._life(entry.key, entry.topic, entry.time_us)
        mark: ProducedMark = {"kind": "produced", "at_us": entry.time_us, "event": entry.event, "node": entry.node}
        if entry.batch:
            mark["batch"] = {"count": len(entry.batch), "first": entry.batch[0], "last": entry.batch[-1]}
        life.sends.append(mark)

    def _send_returned(self, entry: SendReturned) -> None:
        life = self._life(entry.key, entry.topic, entry.time_us)
        if entry.status != "ok":
            mark: SendFailedMark = {
                "kind": cast("FailedSend", entry.status),
                "at_us": entry.time_us,
                "event": entry.event,
                "node": entry.node,
                "detail": entry.detail,
            }
            life.sends.append(mark)

    # ------------------------------------------------------------------------------ view

    def _judge(self) -> None:
        for life in self._changed.values():
            life.judge()
            if life.is_in_trouble:
                self._troubled[life.key] = None
            else:
                self._troubled.pop(life.key, None)

    def _choose(self) -> list[MessageLife]:
        """Return those that are shown, oldest first: the newest ones in trouble, and the newest of the others."""
        if self._changed:
            self._judge()
            self._changed.clear()
            lives = list(self.lives.values())
            troubled = [life for life in lives if life.is_in_trouble]
            chosen = {life.key: None for life in troubled[-LIVES_TROUBLED_SHOWN:]}
            for life in reversed(lives):
                if len(chosen) >= LIVES_SHOWN:
                    break
                chosen[life.key] = None
            self._chosen = [life for life in lives if life.key in chosen]
        return self._chosen

    def _message(self, life: MessageLife) -> MessageLifePicture:
        view = life.view
        if view is not None and not life.has_changed:
            # Nothing has happened to it; but a group that it waited for may have passed it.
            if not any(part["state"] == "waiting" for part in view["groups"].values()):
                return view
            groups = self._groups(life)
            if groups != view["groups"]:
                life.view = {**view, "groups": groups}
            return life.view or view
        life.view = message_life_view(
            life.key,
            life.topic,
            life.at_us,
            life.marks(),
            LIFE_MARKS_SHOWN,
            self._groups(life),
            is_in_trouble=life.is_in_trouble,
        )
        life.has_changed = False
        return life.view

    def _groups(self, life: MessageLife) -> dict[str, LifeInGroup]:
        """Return what has become of it for each group that subscribes to its topic, or has received it."""
        subscriptions = self._read_subscriptions()
        names = {group: None for topic, group in subscriptions if topic == life.topic}
        names.update(dict.fromkeys(delivery.began.group for delivery in life.deliveries))
        return {group: self._group(life, group, subscriptions.get((life.topic, group), "*")) for group in sorted(names)}

    def _read_subscriptions(self) -> dict[tuple[str, str], str]:
        """Return the subscriptions of clustering groups; members may join while the world runs."""
        count = len(self._world.nodes)
        if self._subscriptions[0] != count:
            specs = [role.spec for role in self._world.consumers() if role.spec.model == "clustering"]
            self._subscriptions = (count, {(spec.topic, spec.group): spec.expression for spec in specs})
        return self._subscriptions[1]

    def _group(self, life: MessageLife, group: str, expression: str) -> LifeInGroup:
        state, until_us = life.state_for(group), None
        if state in ("delayed", "waiting"):
            copy = life.last_copy_for(group)
            if state == "delayed" and copy is not None:
                until_us = copy.due_us
            elif copy is not None and self._is_past(group, copy):
                state = "filtered" if expression.strip() != "*" else "skipped"
        return {"state": state, "attempts": life.attempts(group), "until_us": until_us}

    def _is_past(self, group: str, copy: StoredCopyView) -> bool:
        role = self._world.find(BrokerNode, copy.broker)
        broker = role.broker if role is not None else None
        if broker is None:
            return False
        return broker.consumer_offset_manager.query_offset(group, copy.topic, copy.queue_id) > copy.queue_offset
