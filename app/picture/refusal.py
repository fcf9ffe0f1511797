"""Why a request was refused."""

from __future__ import annotations

from typing import TypedDict


class RefusedRequest(TypedDict):
    """A request that was refused."""

    #: In English.
    error: str
    #: By language.
    text: dict[str, str]


class Refusal(RefusedRequest):
    """A request that was refused for a reason that has a name."""

    reason: str
