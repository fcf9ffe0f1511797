"""What the page server asks of the engine. The live host answers it; tests may stand in another source.

All methods may be called from any thread and return plain values that nobody changes afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from app.foundation.json_types import JsonObject, JsonValue

if TYPE_CHECKING:
    from app.foundation.operator_wishes import Wish
    from engine.broker.delivery.dead_letter import ResendTo
    from engine.broker.transactions.half_message_lookup import Deed


class EngineUnavailable(Exception):
    """The engine did not answer in time, or it is stopped; the message says which."""


class MemberWithoutBroker(EngineUnavailable):
    """This process is the member ``name`` of a group of brokers, and does not lead it.

    :param standing: a value of ``MemberStanding``.
    :param leader: empty: not known.
    :param why: it joins or is stopped, by language.
    """

    def __init__(self, name: str, standing: str, leader: str, term: int, why: Mapping[str, str]) -> None:
        known = f"{leader} leads" if leader else "no leader is known"
        reason = f": {why['en']}" if why else ""
        super().__init__(
            f"{name} is {standing} in its group{reason} ({known}, term {term}); only the leader has the broker"
        )
        self.told: JsonObject = {
            "name": name,
            "standing": standing,
            "leader": leader,
            "term": term,
            "why": dict(why),
        }


@dataclass(frozen=True, slots=True)
class ResendWish:
    """Which dead letters of a group to resend. ``names``: ids or keys; None: all from number ``start`` on that
    were not resent yet, so many at a time. ``anyway``: also named ones that were resent before.
    """

    names: tuple[str, ...] | None
    to: ResendTo
    anyway: bool = False
    start: int = 0


class LiveSource(Protocol):
    """The live engine as the page server sees it. Every method raises :class:`EngineUnavailable`."""

    def state(self) -> JsonObject:
        """A fresh tree of everything that the page shows."""
        ...

    def history(self) -> JsonObject:
        """Rates per second of the last minutes: one list per measure and ``seconds``, all of one length."""
        ...

    def history_between(self, first: int, last: int) -> JsonObject:
        """The same of the last 24 hours, coarser where it is older: see :meth:`app.watch.history.History.between`."""
        ...

    def verdict(self) -> JsonObject:
        """How the broker is, in words (:mod:`app.watch.verdict`), and ``rules``."""
        ...

    def set_thresholds(self, wanted: Mapping[str, JsonValue]) -> JsonObject:
        """Set thresholds of rules, null: off; the verdict by them. Raises ``ThresholdRefused``, ``OSError``."""
        ...

    def find_by_key(self, topic: str, key: str, limit: int) -> list[JsonObject]:
        """Summaries of messages of ``topic`` that carry ``key``, newest first, at most ``limit``."""
        ...

    def find_by_unique_id(self, unique_id: str, topic: str | None, limit: int) -> list[JsonObject]:
        """Summaries of messages with the client-made id (in one topic, or in all)."""
        ...

    def record_at(self, offset: int) -> bytes | None:
        """The stored bytes of the record that starts at commit-log ``offset``; None where none starts."""
        ...

    def queue_entries(self, topic: str, queue_id: int, start: int, count: int) -> list[tuple[int, int, int]] | None:
        """Consume-queue entries (commit-log offset, size, tags code) from ``start``; None: no such queue."""
        ...

    def act_on_half_message(self, deed: Deed, name: str) -> JsonObject:
        """Commit, roll back or take up again the message with that unique id, key or offset message id.

        What was acted on: ``id``, ``key``, ``topic``, ``queue_id``, ``group``. Raises ``HalfMessageRefused``.
        """
        ...

    def operate(self, wish: Wish) -> JsonObject:
        """Create a topic, send a message, reset offsets: see ``app.live.operator_routes``. Raises ``WishRefused``."""
        ...

    def topics_with(self, text: str) -> JsonObject:
        """Topics with ``text`` in their names, and how many more there are: see ``TopicsView.find``."""
        ...

    def clients(self, group: str) -> JsonObject:
        """What the members of a consumer group tell of themselves now: see ``app.live.client_answers``."""
        ...

    def message_trails(self, name: str, topic: str | None) -> list[JsonObject]:
        """What happened to messages with that unique id, offset id or key: see ``app.observation.message_trail``."""
        ...

    def dead_letter_groups(self) -> list[JsonObject]:
        """Groups that have or had dead letters: see ``app.observation.dead_letters_view``, as the next two."""
        ...

    def dead_letters(self, group: str, start: int | None, count: int) -> JsonObject | None:
        """``group`` and ``messages`` from number ``start`` on (None: the newest ones); None: no such group."""
        ...

    def resend_dead_letters(self, group: str, wish: ResendWish) -> JsonObject | None:
        """What became of each; None: no such group."""
        ...
