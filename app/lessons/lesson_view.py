"""The data that a lesson's expressions use: the view of the stage, and the history of the clients so far.

history   sending       event, time_us, node, key, topic, batch (keys of all that travel in the same request; empty: it
                        travels alone): a producer begins to send
          sent          the same with status ("ok" | "refused" | "unknown"), queue_id, queue_offset, broker, detail
          begun         event, time_us, node, group, topic, broker, queue_id, queue_offset, key, reconsume_times: a
                        listener gets a message
          consumed      the same with result ("success" | "later" | "throws"): it is done with it
          dropped       as begun: a broadcasting consumer gave the message up
          transactions  event, time_us, node, group, key, check (0: the local transaction; n: the nth check-back),
                        result ("commit" | "rollback" | "unknown" | "throws"): a transaction listener has answered
          bank          event, time_us, node, bank, account, doing ("debit" | "credit" | "check"), key, amount, outcome
                        ("committed", "duplicate", or why not), balance: a bank has committed something, or could not
          branches      event, time_us, node, xid, key, doing, state, reason: a branch of a two-phase commit moved
          globals       event, time_us, node, xid, key, state, reason: a global transaction moved
          transfers     event, time_us, node, key, xid, outcome, reason: a transaction manager knows how one ended
          lookups       event, time_us, node, began_us, holder, balance: a cash machine got its answer
          work          event, time_us, node, effect, key, by: a database or a service has done what a message asks for
          judged        event, time_us, node, group, key, order, business_key, verdict, is_acknowledged: an idempotent
                        listener is done with a delivery
          commands      event, time_us, kind, target: what was done to the world, by the script too

A message that was consumed twice is there twice. Times are virtual microseconds.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from app.foundation.json_types import JsonObject
    from app.picture.world.world import WorldPicture
    from engine.lab.nodes.history import LabHistory


def lesson_view(view: WorldPicture, history: LabHistory) -> JsonObject:
    """Return ``view`` with ``history``, up to the view's event (which may be in the past)."""
    event = view["event"]
    return {
        **view,
        "history": {
            "sending": _until(event, history.sends_invoked),
            "sent": _until(event, history.sends_returned),
            "begun": _until(event, history.consumes_began),
            "consumed": _until(event, history.consumes_ended),
            "dropped": _until(event, history.messages_dropped),
            "transactions": _until(event, history.transactions_ended),
            "bank": _until(event, history.bank_entries),
            "branches": _until(event, history.branches_changed),
            "globals": _until(event, history.globals_changed),
            "transfers": _until(event, history.transfers_ended),
            "lookups": _until(event, history.balance_lookups),
            "work": _until(event, history.work_done),
            "judged": _until(event, history.deliveries_judged),
            "commands": [
                {"event": done.event, "time_us": done.time_us, **done.command.to_dict()}
                for done in history.commands
                if done.event <= event
            ],
        },
    }


def _until(event: int, entries: Iterable[NamedTuple]) -> list[JsonObject]:
    rows = (entry._asdict() for entry in entries)
    return [_plain(row) for row in rows if row["event"] <= event]


def _plain(row: dict[str, Any]) -> JsonObject:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in row.items()}
