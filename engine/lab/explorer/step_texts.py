"""Meaning of each step of a client: why a stall or a crash just before it matters.

Each step of ordered and concurrent consumption, transactions and the bank has a line here. Its name is in the catalogue
as ``label.NAME``, like the names of all other events.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class StallStepText(NamedTuple):
    """The reasons why a pause or a crash at a step matters: ``stall.WHY``, ``crash.WHY`` of the catalogue.

    ``crash`` is empty where there is nothing to add.
    """

    stall: str
    crash: str = ""


#: Label of a step -> its texts.
STEPS: Mapping[str, StallStepText] = {
    "checks whether the queue was dropped before consuming": StallStepText("no_lock_yet"),
    "acquires lock message queue lock": StallStepText("local_lock"),
    "checks the broker lock": StallStepText("has_checked"),
    "checks whether to go on with the queue": StallStepText("has_checked"),
    "takes messages": StallStepText("checks_done"),
    "acquires lock process queue consume lock": StallStepText("taken_out"),
    "checks whether the queue was dropped under the consume lock": StallStepText("under_consume_lock"),
    "calls the listener": StallStepText("last_check_done"),
    "commits consumed messages": StallStepText("in_hand"),
    "updates the offset": StallStepText("consumed", "consumed"),
    "marks the process queue dropped": StallStepText("giving_up"),
    "reads the offset to persist": StallStepText("giving_up"),
    "looks for cached messages before unlocking": StallStepText("giving_up"),
    "unlocks the queue at the broker": StallStepText("giving_up"),
    "removes the process queue": StallStepText("giving_up"),
    "locks the queue at the broker": StallStepText("giving_up"),
    "notes the broker's answer in the process queues": StallStepText("has_checked"),
    "adds the process queue": StallStepText("giving_up"),
    "raises the version of the subscription": StallStepText("others_learn_later"),
    "takes a pull request": StallStepText("nobody_pulls"),
    "checks whether the queue was dropped before pulling": StallStepText("has_checked"),
    "reads the offset to commit with the pull": StallStepText("has_checked"),
    "puts messages into the process queue": StallStepText("arrive_late"),
    "reads which queues to lock": StallStepText("not_renewed"),
    "checks whether messages wait": StallStepText("has_checked"),
    "checks whether the queue is ours again": StallStepText("giving_up"),
    "checks whether the queue was dropped before locking": StallStepText("has_checked"),
    "puts failed messages back": StallStepText("in_hand"),
    "puts the messages in hand back": StallStepText("in_hand"),
    "reads which queues to unlock": StallStepText("giving_up"),
    "checks whether the queue was dropped after consuming": StallStepText("in_hand", "listener_done"),
    "removes consumed messages": StallStepText("in_hand", "listener_done"),
    "looks for expired messages": StallStepText("in_hand"),
    "removes an expired message": StallStepText("in_hand"),
    "executes the local transaction": StallStepText("half_stored", "half_stored"),
    "ends the transaction": StallStepText("transaction_ended", "transaction_ended"),
    "checks the local transaction": StallStepText("question_waits", "asks_group"),
    "acquires lock bank database": StallStepText("nothing_written", "nothing_written"),
    "debits the account": StallStepText("nothing_debited", "nothing_debited"),
    "commits the local transaction": StallStepText("debit_written", "debit_written"),
    "asks for the credit": StallStepText("debit_committed", "debit_committed"),
    "looks the local transaction up": StallStepText("question_waits", "asks_again"),
    "credits the account": StallStepText("credit_open", "credit_open"),
    "commits the credit": StallStepText("credit_written", "credit_written"),
    # --- two-phase commit
    "begins the global transaction": StallStepText("nobody_bound", "nobody_bound"),
    "enlists a resource manager": StallStepText("nobody_bound", "nobody_bound"),
    "registers the branch": StallStepText("nobody_bound", "nobody_bound"),
    "asks for the votes": StallStepText("nobody_bound", "nobody_bound"),
    "asks for a vote": StallStepText("voters_wait", "voters_wait"),
    "waits for the lock on the account": StallStepText("others_wait", "others_wait"),
    "writes down what it will post": StallStepText("not_voted", "not_voted"),
    "makes the decision durable": StallStepText("undecided", "undecided"),
    "orders the commit": StallStepText("order", "order"),
    "orders the rollback": StallStepText("order", "order"),
    "orders the commit of a branch": StallStepText("order", "order"),
    "orders the rollback of a branch": StallStepText("order", "order"),
    "asks for the decision": StallStepText("in_doubt", "in_doubt"),
}
