"""The live engine as the page server asks it: one running broker, what observes it, and what operates it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from app.live.client_questions import ClientQuestions

if TYPE_CHECKING:
    from app.foundation.json_types import JsonValue
    from app.observation.live_state import LiveState
    from app.picture.consumer_group import GroupReport
    from app.picture.health import HealthReport
    from app.picture.message_life import StoredMessageLife
    from app.remote.operator_service import OperatorService
    from app.watch.watcher import Watcher
    from engine.live.live_machines import LiveMachines


class ObservedEngine:
    """A :class:`~app.web.live_source.LiveEngine`: of one start of the broker."""

    def __init__(
        self, machines: LiveMachines, state: LiveState, watcher: Watcher, take_sample: Callable[[], None]
    ) -> None:
        self._machines = machines
        self.state = state
        self.watcher = watcher
        self._take_sample = take_sample
        self._questions = ClientQuestions(machines.broker)

    @cached_property
    def operator(self) -> OperatorService:
        from app.remote.operator_service import OperatorService

        return OperatorService(self._machines.broker, self._machines.name_server)

    def set_thresholds(self, wanted: Mapping[str, JsonValue]) -> HealthReport:
        self.watcher.change_thresholds(wanted)
        self._take_sample()
        return self.watcher.as_json()

    async def clients(self, group: str) -> Callable[[], GroupReport]:
        from app.live.client_answers import look_view

        look = await self._questions.look(group)
        return lambda: look_view(group, look)

    async def trails(self, name: str, topic: str | None) -> Callable[[], list[StoredMessageLife]]:
        from app.live.message_holders import note_holders, waiting_groups

        lives = await self.operator.trails(name, topic)
        groups = waiting_groups(lives)
        answers = dict(zip(groups, await self._questions.ask_all(groups), strict=True))
        return lambda: note_holders(lives, answers)

    async def close(self) -> None:
        """Close what belongs to this broker; the next one has its own."""
        if "operator" in vars(self):
            await self.operator.close()
        await self._questions.close()
