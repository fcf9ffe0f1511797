"""Meaning of each step of a client: why a stall or a crash just before it matters.

Each step of ordered and concurrent consumption, transactions and the bank has a line here. Its name is in the catalogue
as ``label.NAME``, like the names of all other events.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class StepText(NamedTuple):
    """Why a pause at a step matters, and why a crash does: ``stall.WHY``, ``crash.WHY`` of the catalogue.

    ``crash`` is empty where there is nothing to add.
    """

    stall: str
    crash: str = ""


#: Label of a step -> its texts.
STEPS: Mapping[str, StepText] = {
    "checks whether the queue was dropped before consuming": StepText("no_lock_yet"),
    "acquires lock message queue lock": StepText("local_lock"),
    "checks the broker lock": StepText("has_checked"),
    "checks whether to go on with the queue": StepText("has_checked"),
    "takes messages": StepText("checks_done"),
    "acquires lock process queue consume lock": StepText("taken_out"),
    "checks whether the queue was dropped under the consume lock": StepText("under_consume_lock"),
    "calls the listener": StepText("last_check_done"),
    "commits consumed messages": StepText("in_hand"),
    "updates the offset": StepText("consumed", "consumed"),
    "marks the process queue dropped": StepText("giving_up"),
    "reads the offset to persist": StepText("giving_up"),
    "looks for cached messages before unlocking": StepText("giving_up"),
    "unlocks the queue at the broker": StepText("giving_up"),
    "removes the process queue": StepText("giving_up"),
    "locks the queue at the broker": StepText("giving_up"),
    "notes the broker's answer in the process queues": StepText("has_checked"),
    "adds the process queue": StepText("giving_up"),
    "raises the version of the subscription": StepText("others_learn_later"),
    "takes a pull request": StepText("nobody_pulls"),
    "checks whether the queue was dropped before pulling": StepText("has_checked"),
    "reads the offset to commit with the pull": StepText("has_checked"),
    "puts messages into the process queue": StepText("arrive_late"),
    "reads which queues to lock": StepText("not_renewed"),
    "checks whether messages wait": StepText("has_checked"),
    "checks whether the queue is ours again": StepText("giving_up"),
    "checks whether the queue was dropped before locking": StepText("has_checked"),
    "puts failed messages back": StepText("in_hand"),
    "puts the messages in hand back": StepText("in_hand"),
    "reads which queues to unlock": StepText("giving_up"),
    "checks whether the queue was dropped after consuming": StepText("in_hand", "listener_done"),
    "removes consumed messages": StepText("in_hand", "listener_done"),
    "looks for expired messages": StepText("in_hand"),
    "removes an expired message": StepText("in_hand"),
    "executes the local transaction": StepText("half_stored", "half_stored"),
    "ends the transaction": StepText("transaction_ended", "transaction_ended"),
    "checks the local transaction": StepText("question_waits", "asks_group"),
    "acquires lock bank database": StepText("nothing_written", "nothing_written"),
    "debits the account": StepText("nothing_debited", "nothing_debited"),
    "commits the local transaction": StepText("debit_written", "debit_written"),
    "asks for the credit": StepText("debit_committed", "debit_committed"),
    "looks the local transaction up": StepText("question_waits", "asks_again"),
    "credits the account": StepText("credit_open", "credit_open"),
    "commits the credit": StepText("credit_written", "credit_written"),
    # --- two-phase commit
    "begins the global transaction": StepText("nobody_bound", "nobody_bound"),
    "enlists a resource manager": StepText("nobody_bound", "nobody_bound"),
    "registers the branch": StepText("nobody_bound", "nobody_bound"),
    "asks for the votes": StepText("nobody_bound", "nobody_bound"),
    "asks for a vote": StepText("voters_wait", "voters_wait"),
    "waits for the lock on the account": StepText("others_wait", "others_wait"),
    "writes down what it will post": StepText("not_voted", "not_voted"),
    "makes the decision durable": StepText("undecided", "undecided"),
    "orders the commit": StepText("order", "order"),
    "orders the rollback": StepText("order", "order"),
    "orders the commit of a branch": StepText("order", "order"),
    "orders the rollback of a branch": StepText("order", "order"),
    "asks for the decision": StepText("in_doubt", "in_doubt"),
}
