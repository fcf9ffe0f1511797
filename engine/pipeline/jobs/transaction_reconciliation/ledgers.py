"""The ledgers of two banks, as ``glassmq bank`` keeps them, and how transfers and messages agree.

::

    icbc.db   account(name, balance)   transfer(key, account, amount, at_ms)           what was debited
    ccb.db    account(name, balance)   credit(key, account, amount, at_ms, times)      what was credited
    bank-id   names the producer group of the transfers: icbc-<bank-id>

The key of a transfer is the key of its message. ``at_ms`` is when the row was written, a moment before its commit.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from engine.pipeline.errors import JobFailed
from engine.pipeline.jobs.transaction_reconciliation.verdicts import Status

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: ``glassmq bank`` calls them so.
PAYING_FILE, RECEIVING_FILE, ID_FILE = "icbc.db", "ccb.db", "bank-id"
_BANK_ID = re.compile(r"[0-9a-f]{8}")
_POSTING_SCHEMA = pa.schema(
    [("key", pa.string()), ("account", pa.string()), ("amount", pa.int64()), ("at_ms", pa.int64())]
)


@dataclass(frozen=True, slots=True)
class AccountState:
    """One account, and what the ledger of its bank says about it."""

    bank: str
    name: str
    balance: int
    debited: int
    credited: int

    @property
    def opening(self) -> int:
        """What it must have held before anything that the ledger tells."""
        return self.balance + self.debited - self.credited


@dataclass(frozen=True, slots=True)
class Ledgers:
    """Both banks at one look.

    :ivar debits: rows of ``transfer`` at the paying bank, :ivar credits: rows of ``credit`` at the receiving bank.
    :ivar producer_group: whose messages ask for the credits; None: not known.
    """

    accounts: tuple[AccountState, ...]
    debits: pa.Table
    credits: pa.Table
    producer_group: str | None

    @property
    def opening(self) -> int:
        """What all accounts must have held in the beginning."""
        return sum(account.opening for account in self.accounts)

    @property
    def balance(self) -> int:
        """What they hold now."""
        return sum(account.balance for account in self.accounts)


def read_ledgers(folder: Path) -> Ledgers:
    """Read both databases; they may be in use.

    The receiving bank is read first: whoever was credited by then was debited before. Raises
    :class:`~engine.pipeline.errors.JobFailed`.
    """
    receiving, credited = _read_bank(folder / RECEIVING_FILE, "credit")
    paying, debited = _read_bank(folder / PAYING_FILE, "transfer")
    group = _producer_group(folder / ID_FILE)
    return Ledgers((*paying, *receiving), debited, credited, group)


def _producer_group(path: Path) -> str | None:
    bank_id = path.read_text(errors="replace").strip() if path.is_file() else ""
    return f"icbc-{bank_id}" if _BANK_ID.fullmatch(bank_id) else None


def _read_bank(path: Path, table: str) -> tuple[list[AccountState], pa.Table]:
    if not path.is_file():
        raise JobFailed(f"bank_folder: there is no {path}; give the folder of `glassmq bank --folder`")
    try:
        # Read-only: a look must not leave a journal beside a file that is replaced at each commit.
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
            rows = database.execute(f"SELECT key, account, amount, at_ms FROM {table}").fetchall()
            sums = {
                posted: dict(database.execute(f"SELECT account, sum(amount) FROM {posted} GROUP BY account"))
                for posted in ("transfer", "credit")
            }
            balances = database.execute("SELECT name, balance FROM account ORDER BY name").fetchall()
    except sqlite3.Error as error:
        raise JobFailed(f"bank_folder: {path} is not the database of a bank: {error}") from error
    accounts = [
        AccountState(path.stem, name, balance, sums["transfer"].get(name, 0), sums["credit"].get(name, 0))
        for name, balance in balances
    ]
    columns = list(zip(*rows, strict=True)) or [()] * len(_POSTING_SCHEMA)
    return accounts, pa.table([list(column) for column in columns], schema=_POSTING_SCHEMA)


# --- transfer by transfer --------------------------------------------------------------------------------------------


class Agreement(StrEnum):
    """What both ledgers and the message say of one transfer. The worst come first, in :data:`BAD`."""

    FROM_NOWHERE = "credited, never debited"
    TOO_MUCH = "credited more than was debited"
    TOO_LITTLE = "credited less than was debited"
    ROLLED_BACK = "debited, but its message was rolled back"
    NO_MESSAGE = "debited, but it has no message"
    GIVEN_UP = "debited, but its message was given up"
    NO_TRANSFER = "its message was committed, but nothing was debited"
    UNDECIDED = "on its way: debited, its message is not decided yet"
    ON_ITS_WAY = "on its way: debited, not credited yet"
    AGREED = "debited and credited"


#: What does not mend itself.
BAD = (
    Agreement.FROM_NOWHERE,
    Agreement.TOO_MUCH,
    Agreement.TOO_LITTLE,
    Agreement.ROLLED_BACK,
    Agreement.NO_MESSAGE,
    Agreement.GIVEN_UP,
    Agreement.NO_TRANSFER,
)

_TRANSFERS = f"""
    SELECT coalesce(d.key, c.key, m.key) AS key, d.amount AS debited, c.amount AS credited,
           d.at_ms AS debited_ms, c.at_ms AS credited_ms, m.status AS message,
           CASE WHEN d.key IS NULL AND c.key IS NULL THEN '{Agreement.NO_TRANSFER}'
                WHEN d.key IS NULL THEN '{Agreement.FROM_NOWHERE}'
                WHEN c.amount > d.amount THEN '{Agreement.TOO_MUCH}'
                WHEN c.amount < d.amount THEN '{Agreement.TOO_LITTLE}'
                WHEN c.key IS NOT NULL THEN '{Agreement.AGREED}'
                WHEN m.status = '{Status.COMMITTED}' THEN '{Agreement.ON_ITS_WAY}'
                WHEN m.status = '{Status.ROLLED_BACK}' THEN '{Agreement.ROLLED_BACK}'
                WHEN m.status = '{Status.GIVEN_UP}' THEN '{Agreement.GIVEN_UP}'
                WHEN m.status IS NOT NULL OR d.at_ms > {{read_until_ms}} THEN '{Agreement.UNDECIDED}'
                ELSE '{Agreement.NO_MESSAGE}'
           END AS agreement
    FROM {{debits}} AS d
    FULL OUTER JOIN {{credits}} AS c ON d.key = c.key
    FULL OUTER JOIN (
        -- Of several transactions with one key, the one that went furthest counts.
        SELECT key, coalesce(max(if(status = '{Status.COMMITTED}', status, NULL)), max(status)) AS status
        FROM {{judged}} WHERE role = 'transaction' AND key IS NOT NULL AND {{is_ours}} GROUP BY key
    ) AS m ON coalesce(d.key, c.key) = m.key
    WHERE d.key IS NOT NULL OR c.key IS NOT NULL OR m.status = '{Status.COMMITTED}'
"""


def transfers(spark: SparkSession, ledgers: Ledgers, judged: DataFrame, read_until_ms: int | None = None) -> DataFrame:
    """One row per transfer that a ledger or a committed message tells of: amounts, times (ms), ``agreement``.

    :param judged: from :func:`~engine.pipeline.jobs.transaction_reconciliation.verdicts.judge`.
    :param read_until_ms: store time of the newest message that was read, where messages may be behind the ledgers: the
        message of a later debit may not have been read yet. None: all were.
    """
    group = ledgers.producer_group
    query = _TRANSFERS.format(
        read_until_ms=2**62 if read_until_ms is None else read_until_ms,
        # Other programs' transactions are no transfers, even if their keys look alike.
        is_ours="true" if group is None else f"producer_group = '{group}'",
        debits="{debits}",
        credits="{credits}",
        judged="{judged}",
    )
    return spark.sql(
        query,
        debits=spark.createDataFrame(ledgers.debits),
        credits=spark.createDataFrame(ledgers.credits),
        judged=judged,
    )


@dataclass(frozen=True, slots=True)
class Money:
    """The sums over all transfers. ``before + from_nowhere == after + in_flight + lost``, always: if that were not so,
    a ledger would contradict itself.

    :ivar in_flight: debited, and its credit may still come.
    :ivar lost: debited, and its credit will not come.
    :ivar from_nowhere: credited without a debit, or more than was debited.
    :ivar problems: how many transfers do not agree.
    """

    before: int
    after: int
    in_flight: int
    lost: int
    from_nowhere: int
    problems: int

    @property
    def is_conserved(self) -> bool:
        """Whether nothing was lost and nothing came from nowhere."""
        return self.lost == 0 and self.from_nowhere == 0


def money(ledgers: Ledgers, counted: Sequence[tuple[str, int, int, int]]) -> Money:
    """:param counted: (agreement, transfers, sum of debits, sum of credits), one for each agreement that occurs."""
    in_flight = lost = from_nowhere = problems = 0
    for agreement, count, debited, credited in counted:
        if agreement in (Agreement.UNDECIDED, Agreement.ON_ITS_WAY):
            in_flight += debited
        elif credited > debited:
            from_nowhere += credited - debited
        else:
            lost += debited - credited
        if agreement in BAD:
            problems += count
    return Money(ledgers.opening, ledgers.balance, in_flight, lost, from_nowhere, problems)
