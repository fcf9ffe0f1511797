"""The facts of a broker that is well and has nothing, for tests of the rules that judge them."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from app.picture.live_state import HealthFacts

HEALTHY = cast(
    "HealthFacts",
    {
        "cluster": {"now_us": 0},
        "connections": {},
        "client_names": {},
        "omitted": {"connections": 0},
        "topics": {},
        "groups": {},
        "transactions": None,
        "rates": {"in_messages": 0},
        "commit_log": {"damage": {"count": 0}},
        "numbers": None,
        "replication": None,
        "put_failures": 0,
        "dead_letters": {},
        "unsent": {},
        "disk_used": 0.0,
    },
)
