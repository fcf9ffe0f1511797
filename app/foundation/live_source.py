"""The interface of the engine for the page server. The live host implements it; tests may use another source.

All methods may be called from any thread and return plain values that are not changed afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from app.foundation.json_types import JsonObject, JsonValue
from engine.runtime.live.engine_thread import EngineUnavailable

if TYPE_CHECKING:
    from app.foundation.operator_requests import OperatorRequest
    from engine.broker.delivery.dead_letter import ResendTo
    from engine.broker.transactions.half_message_lookup import HalfMessageAction


class MemberWithoutBroker(EngineUnavailable):
    """This process is the member ``name`` of a group of brokers, and does not lead it.

    :param standing: a value of ``MemberStanding``.
    :param leader: empty when unknown.
    :param why: why it joins or is stopped, by language.
    """

    def __init__(self, name: str, standing: str, leader: str, term: int, why: Mapping[str, str]) -> None:
        known = f"{leader} leads" if leader else "no leader is known"
        reason = f": {why['en']}" if why else ""
        super().__init__(
            f"{name} is {standing} in its group{reason} ({known}, term {term}); only the leader runs the broker"
        )
        self.reported: JsonObject = {
            "name": name,
            "standing": standing,
            "leader": leader,
            "term": term,
            "why": dict(why),
        }


@dataclass(frozen=True, slots=True)
class ResendRequest:
    """A request to resend dead letters of a group.

    :ivar names: ids or keys; None means all that were not resent yet from number ``start`` on, at most this number at a
        time.
    :ivar anyway: resend named ones even if they were resent before.
    """

    names: tuple[str, ...] | None
    to: ResendTo
    anyway: bool = False
    start: int = 0


class LiveSource(Protocol):
    """The live engine as the page server sees it. Every method raises :class:`EngineUnavailable`."""

    def state(self) -> JsonObject:
        """Return a fresh tree of everything that the page shows."""
        ...

    def history(self) -> JsonObject:
        """Return rates per second of the last minutes: one list per measure and ``seconds``, all of the same length."""
        ...

    def history_between(self, first: int, last: int) -> JsonObject:
        """Return the rates of the last 24 hours, coarser where they are older: see
        :meth:`app.watch.history.History.between`.
        """
        ...

    def verdict(self) -> JsonObject:
        """Return the broker's health in words (:mod:`app.watch.verdict`), and ``rules``."""
        ...

    def set_thresholds(self, wanted: Mapping[str, JsonValue]) -> JsonObject:
        """Set thresholds of rules (null turns a rule off), and return the verdict by them.

        Raises ``FieldRefused``, ``OSError``.
        """
        ...

    def find_by_key(self, topic: str, key: str, limit: int) -> list[JsonObject]:
        """Return summaries of messages of ``topic`` that carry ``key``, newest first, at most ``limit``."""
        ...

    def find_by_unique_id(self, unique_id: str, topic: str | None, limit: int) -> list[JsonObject]:
        """Return summaries of messages with the client-made id (in one topic, or in all)."""
        ...

    def record_at(self, offset: int) -> bytes | None:
        """Return the stored bytes of the record that starts at commit-log ``offset``; None where none starts."""
        ...

    def queue_entries(self, topic: str, queue_id: int, start: int, count: int) -> list[tuple[int, int, int]] | None:
        """Return consume-queue entries (commit-log offset, size, tags code) from ``start``; None when there is no such
        queue.
        """
        ...

    def act_on_half_message(self, action: HalfMessageAction, name: str) -> JsonObject:
        """Commit, roll back or resume the message with that unique id, key or offset message id.

        Returns the message: ``id``, ``key``, ``topic``, ``queue_id``, ``group``. Raises ``HalfMessageRefused``.
        """
        ...

    def operate(self, request: OperatorRequest) -> JsonObject:
        """Create a topic, send a message, reset offsets (``app.live.operator_routes``). Raises ``OperationRefused``."""
        ...

    def topics_with(self, text: str) -> JsonObject:
        """Return topics with ``text`` in their names, and how many more there are: see ``TopicsView.find``."""
        ...

    def clients(self, group: str) -> JsonObject:
        """Return what the members of a consumer group report now: see ``app.live.client_answers``."""
        ...

    def message_trails(self, name: str, topic: str | None) -> list[JsonObject]:
        """Return the history of messages with that unique id, offset id or key: see
        ``app.observation.message_trail``.
        """
        ...

    def dead_letter_groups(self) -> list[JsonObject]:
        """Return groups that have or had dead letters: see ``app.observation.dead_letters_view``."""
        ...

    def dead_letters(self, group: str, start: int | None, count: int) -> JsonObject | None:
        """Return ``group`` and ``messages`` from number ``start`` on (None: the newest ones); None when there is no
        such group.
        """
        ...

    def resend_dead_letters(self, group: str, request: ResendRequest) -> JsonObject | None:
        """Resend dead letters, and return what became of each; None when there is no such group."""
        ...
