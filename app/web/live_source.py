"""The interface of the engine for the page server. The live host implements it; tests may use another source."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, overload

from engine.runtime.live.engine_thread import EngineUnavailable

if TYPE_CHECKING:
    from app.foundation.json_types import JsonValue
    from app.observation.live_state import LiveState
    from app.picture.consumer_group import GroupReport
    from app.picture.health import HealthReport
    from app.picture.live.brokers import BrokersReport
    from app.picture.live_state import WatchedState
    from app.picture.message_life import StoredMessageLife
    from app.picture.rates import SecondLists
    from app.picture.replica import AbsentBroker
    from app.remote.operator_service import OperatorService
    from app.watch.watcher import Watcher

_T = TypeVar("_T")


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
        self.reported: AbsentBroker = {
            "name": name,
            "standing": standing,
            "leader": leader,
            "term": term,
            "why": dict(why),
        }


class LiveEngine(Protocol):
    """The running broker, as functions see it that run in the engine's thread: with what observes and operates it.

    :ivar operator: carries out what an operator asks for, as the commands do.
    """

    state: LiveState
    watcher: Watcher

    @property
    def operator(self) -> OperatorService: ...

    def set_thresholds(self, wanted: Mapping[str, JsonValue]) -> HealthReport:
        """Set thresholds of rules (null turns a rule off), and return the verdict by them.

        Raises ``ThresholdRefused``, ``OSError``.
        """
        ...

    async def clients(self, group: str) -> Callable[[], GroupReport]:
        """Ask the members of a consumer group, and return a function that decodes their answers
        (``app.live.client_answers``): the caller's thread is to call it, because many of them take time.
        """
        ...

    async def trails(self, name: str, topic: str | None) -> Callable[[], list[StoredMessageLife]]:
        """Find messages as ``OperatorService.trails`` does, ask the members of groups that have not confirmed one, and
        return a function that decodes the answers and notes who holds it.
        """
        ...


class LiveSource(Protocol):
    """The live engine as the page server sees it. All methods may be called from any thread, return plain values that
    are not changed afterwards, and raise :class:`EngineUnavailable`.
    """

    def state(self) -> WatchedState:
        """Return a fresh tree of everything that the page shows."""
        ...

    def history(self) -> SecondLists:
        """Return rates per second of the last minutes: one list per measure and ``seconds``, all of the same length."""
        ...

    def brokers(self) -> BrokersReport:
        """Ask all brokers that the name servers know, also where this process runs no broker, and return what they
        report.
        """
        ...

    @overload
    def ask(self, function: Callable[[LiveEngine], Coroutine[Any, Any, _T]]) -> _T:
        """Run ``function`` in the engine's thread and return its result, or that of its coroutine. Its exceptions pass
        through.
        """

    @overload
    def ask(self, function: Callable[[LiveEngine], _T]) -> _T: ...
