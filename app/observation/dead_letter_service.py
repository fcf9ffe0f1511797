"""Dead letters of the live broker: listing them and sending them again. The JSON: app.observation.dead_letters_view."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.foundation.json_types import JsonObject, JsonValue
from app.foundation.operator_requests import ResendRequest
from app.observation.dead_letters_view import dead_letter_view, group_view, report_view

if TYPE_CHECKING:
    from engine.broker.broker import Broker


class DeadLetterService:
    """Lists and resends dead letters. Runs in the engine's thread."""

    def __init__(self, broker: Broker) -> None:
        self._administrator = broker.dead_letter_administrator

    def groups(self) -> list[JsonObject]:
        """Return all groups, those with the newest dead letters first."""
        groups = sorted(self._administrator.groups(), key=lambda group: (-group.newest_ms, group.group))
        return [group_view(group) for group in groups]

    def numbers(self) -> dict[str, int]:
        """Return group -> how many dead letters it ever had."""
        return {group.group: group.max_number for group in self._administrator.groups()}

    def page(self, group: str, start: int | None, count: int) -> JsonObject | None:
        found = next((one for one in self._administrator.groups() if one.group == group), None)
        if found is None:
            return None
        first = max(found.min_number, found.max_number - count) if start is None else max(found.min_number, start)
        dead = self._administrator.page(group, first, count)
        messages: list[JsonValue] = [dead_letter_view(self._administrator, group, one) for one in dead]
        return {"group": group_view(found), "start": first, "messages": messages}

    async def resend(self, group: str, request: ResendRequest) -> JsonObject | None:
        if all(one.group != group for one in self._administrator.groups()):
            return None
        if request.names is None:
            return report_view(await self._administrator.resend_from(group, request.start, request.to))
        return report_view(
            await self._administrator.resend_named(group, request.names, request.to, anyway=request.anyway)
        )
