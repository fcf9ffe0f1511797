"""The ledgers of two banks, as ``glassmq bank`` stores them, and how transfers and messages agree.

::

    icbc.db   account(name, balance)   transfer(key, account, amount, at_ms)           what was debited
    ccb.db    account(name, balance)   credit(key, account, amount, at_ms, times)      what was credited
    bank-id   names the producer group of the transfers: icbc-<bank-id>

The key of a transfer is also the key of its message. ``at_ms`` is when the row was written, a moment before its commit.

The files are on the driver's machine, so SQLite compares them there: both are copied page by page into a temporary
folder, which takes a moment and blocks no bank, and the messages' status of each key is added. The driver's memory does
not grow with the ledgers: SQLite works on its files, and only sums and the worst rows come out.
"""

from __future__ import annotations

import json
import re
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.pipeline.errors import JobFailed
from engine.pipeline.jobs.report import ROWS_MAX, Cell
from engine.pipeline.jobs.transaction_reconciliation.summary import LONGEST_MAX, Buckets
from engine.pipeline.jobs.transaction_reconciliation.words import BAD, Agreement, Status
from engine.texts import Text

#: ``glassmq bank`` calls them so.
LEDGER_FILES = PAYING_FILE, RECEIVING_FILE = "icbc.db", "ccb.db"
ID_FILE = "bank-id"
#: Most debits without a credit whose messages a stream continues to remember; the oldest, which it would forget first.
UNCREDITED_MAX = 10_000
#: Most committed messages without a transfer that a stream continues to remember.
WITHOUT_TRANSFER_MAX = 10_000
#: Limit for the sum of amounts or balances of one table, so that no sum over some of them exceeds the 63 bits of
#: SQLite.
_SUM_MAX = 1 << 62
_BANK_ID = re.compile(r"[0-9a-f]{8}")


@dataclass(frozen=True, slots=True)
class Money:
    """Sums over all transfers. ``before + from_nowhere == after + in_flight + lost`` always holds, unless a ledger
    contradicts itself.

    :ivar in_flight: debited, and the credit may still come.
    :ivar lost: debited, and the credit will not come.
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
        """Return whether nothing was lost and nothing was created."""
        return self.lost == 0 and self.from_nowhere == 0


#: Query for each account of a bank's ledger.
_ACCOUNTS = """
    SELECT name, balance, coalesce(debited, 0), coalesce(credited, 0) FROM {bank}.account
    LEFT JOIN (SELECT account AS debtor, sum(amount) AS debited FROM {bank}.transfer GROUP BY account)
        ON debtor = name
    LEFT JOIN (SELECT account AS creditor, sum(amount) AS credited FROM {bank}.credit GROUP BY account)
        ON creditor = name
    ORDER BY name LIMIT ?
"""
_SUMS = """
    SELECT count(*), coalesce(sum(balance), 0), (SELECT coalesce(sum(amount), 0) FROM {bank}.transfer),
           (SELECT coalesce(sum(amount), 0) FROM {bank}.credit)
    FROM {bank}.account
"""
_POSTING_TYPES = {"key": "text", "amount": "integer", "at_ms": "integer"}
#: Table -> column -> type that SQLite must hold there; it accepts any type.
_TYPES = {"account": {"name": "text", "balance": "integer"}, "transfer": _POSTING_TYPES, "credit": _POSTING_TYPES}
#: Of several transactions with one key, the one that may still bring the credit counts. Lowest rank first.
_RANKS = (Status.ROLLED_BACK, Status.GIVEN_UP, Status.NOT_READ, Status.NOT_COMMITTED, Status.OPEN, Status.COMMITTED)
_RANK = " ".join(f"WHEN '{status}' THEN {rank}" for rank, status in enumerate(_RANKS))
_ADD_MESSAGE = f"""
    INSERT INTO message VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET status = excluded.status
    WHERE CASE excluded.status {_RANK} END > CASE status {_RANK} END
"""
_UNCREDITED = """
    SELECT key, at_ms FROM paying.transfer AS d
    WHERE NOT EXISTS (SELECT 1 FROM receiving.credit AS c WHERE c.key = d.key) ORDER BY at_ms, key LIMIT ? OFFSET ?
"""
_TRANSFERS = f"""
    CREATE TABLE compared AS
    SELECT d.key AS key, d.amount AS debited, c.amount AS credited, d.at_ms AS debited_ms, c.at_ms AS credited_ms,
           m.status AS message,
           CASE WHEN c.amount > d.amount THEN '{Agreement.TOO_MUCH}'
                WHEN c.amount < d.amount THEN '{Agreement.TOO_LITTLE}'
                WHEN c.key IS NOT NULL THEN '{Agreement.AGREED}'
                WHEN m.status = '{Status.COMMITTED}' THEN '{Agreement.ON_ITS_WAY}'
                WHEN m.status = '{Status.ROLLED_BACK}' THEN '{Agreement.ROLLED_BACK}'
                WHEN m.status = '{Status.GIVEN_UP}' THEN '{Agreement.GIVEN_UP}'
                WHEN m.status IS NOT NULL OR d.at_ms >= :read_until_ms OR d.at_ms BETWEEN :from_ms AND :to_ms
                    THEN '{Agreement.UNDECIDED}'
                ELSE '{Agreement.NO_MESSAGE}'
           END AS agreement
    FROM paying.transfer AS d LEFT JOIN receiving.credit AS c ON c.key = d.key LEFT JOIN message AS m ON m.key = d.key
    UNION ALL
    SELECT c.key, NULL, c.amount, NULL, c.at_ms, m.status, '{Agreement.FROM_NOWHERE}'
    FROM receiving.credit AS c LEFT JOIN message AS m ON m.key = c.key
    WHERE NOT EXISTS (SELECT 1 FROM paying.transfer AS d WHERE d.key = c.key)
"""
_WITHOUT_TRANSFER = f"""
    INSERT INTO compared
    SELECT m.key, NULL, NULL, NULL, NULL, m.status, '{Agreement.NO_TRANSFER}'
    FROM message AS m
    WHERE m.status = '{Status.COMMITTED}'
      AND NOT EXISTS (SELECT 1 FROM paying.transfer AS d WHERE d.key = m.key)
      AND NOT EXISTS (SELECT 1 FROM receiving.credit AS c WHERE c.key = m.key)
"""
_KEYS_WITHOUT_TRANSFER = f"""
    SELECT key FROM compared WHERE agreement = '{Agreement.NO_TRANSFER}'
    ORDER BY key NOT IN (SELECT value FROM json_each(?)), key LIMIT ?
"""
_DONE_SINCE = f"""
    DELETE FROM compared WHERE agreement = '{Agreement.NO_TRANSFER}'
        AND EXISTS (SELECT 1 FROM later.transfer AS d WHERE d.key = compared.key)
"""
_IS_BAD = f"agreement IN {tuple(map(str, BAD))}"
_PLACES = " ".join(f"WHEN '{one}' THEN {place}" for place, one in enumerate(Agreement))
_COUNTS = f"""
    SELECT agreement, count(*), iif({_IS_BAD}, count(*), 0) FROM compared
    GROUP BY agreement ORDER BY CASE agreement {_PLACES} END
"""
#: The kinds take turns, so that none hides another.
_WORST = f"""
    SELECT agreement, key, debited, credited, debited_ms, credited_ms, message, {_IS_BAD} FROM (
        SELECT *, CASE agreement {_PLACES} END AS place,
               row_number() OVER (PARTITION BY agreement ORDER BY debited_ms, key) AS turn
        FROM compared WHERE agreement <> '{Agreement.AGREED}' ORDER BY turn, place LIMIT ?
    ) ORDER BY place, turn
"""
#: Transfers that are lost or were never sent, and so were not in flight.
_NEVER_ARRIVES = (Agreement.ROLLED_BACK, Agreement.NO_MESSAGE, Agreement.GIVEN_UP)
_CHANGES = f"""
    SELECT debited_ms AS at_ms, debited AS change FROM compared
    WHERE debited_ms IS NOT NULL AND agreement NOT IN ({", ".join(f"'{bad}'" for bad in _NEVER_ARRIVES)})
    UNION ALL SELECT credited_ms, -debited FROM compared WHERE debited_ms IS NOT NULL AND credited_ms IS NOT NULL
"""
_BOTH_DONE = "FROM compared WHERE debited_ms IS NOT NULL AND credited_ms IS NOT NULL"


class Ledgers:
    """Copies of both ledgers, made on entering; use it in a ``with``, by one thread at a time.

    Entering raises :class:`~engine.pipeline.errors.JobFailed` if a file is not a ledger.

    :param rows_max: most transfers, and accounts of a bank, that are listed.
    :ivar accounts: (bank, account, opening balance, debited, credited, balance) of the first accounts of both banks.
        The opening balance is that before everything in the ledger.
    :ivar account_count: number of their accounts.
    :ivar producer_group: the group whose messages request the credits; None if unknown.
    """

    def __init__(self, folder: Path, rows_max: int = ROWS_MAX) -> None:
        self._folder = folder
        self._rows_max = rows_max
        self._copies = tempfile.TemporaryDirectory(prefix="glassmq-ledgers-", ignore_cleanup_errors=True)
        self._database = sqlite3.connect(Path(self._copies.name) / "compared.db", check_same_thread=False)
        self.accounts: list[Sequence[Cell]] = []
        self.account_count = 0
        #: The opening and the present balances of all accounts.
        self._before = self._after = 0
        self.producer_group: str | None = None

    def __enter__(self) -> Ledgers:
        try:
            # Data that is lost with the process need not survive it.
            self._database.execute("PRAGMA synchronous = OFF")
            self._database.execute("PRAGMA journal_mode = OFF")
            self._database.execute("CREATE TABLE message (key TEXT PRIMARY KEY, status TEXT) WITHOUT ROWID")
            self.copy_again()
            self.producer_group = _producer_group(self._folder / ID_FILE)
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def _close(self) -> None:
        self._database.close()
        self._copies.cleanup()

    def copy_again(self) -> None:
        """Copy the ledgers again, the receiving bank first: every credit by then has an earlier debit. The messages'
        statuses stay. Call :meth:`compare` after it. Raises the same errors as entering.
        """
        self._database.commit()
        self._database.execute("DROP TABLE IF EXISTS compared")
        attached = [name for _, name, _ in self._ask("PRAGMA database_list") if name not in ("main", "temp")]
        for bank in attached:
            self._database.execute(f"DETACH {bank}")
        self.account_count = self._before = self._after = 0
        receiving = self._copy(RECEIVING_FILE, "receiving")
        self.accounts = self._copy(PAYING_FILE, "paying") + receiving

    def _copy(self, name: str, bank: str) -> list[Sequence[Cell]]:
        path = self._attach_copy(name, bank)
        with _named(path):
            self._check(path, bank)
            count, balance, debited, credited = self._database.execute(_SUMS.format(bank=bank)).fetchone()
            rows = self._database.execute(_ACCOUNTS.format(bank=bank), (self._rows_max,)).fetchall()
        self.account_count += count
        self._before += balance + debited - credited
        self._after += balance
        return [[path.stem, name, now + out - into, out, into, now] for name, now, out, into in rows]

    def _attach_copy(self, name: str, bank: str) -> Path:
        path = self._folder / name
        check_ledger(path)
        copy = Path(self._copies.name) / f"{bank}.db"
        with _named(path):
            # Read-only: reading must not leave a journal next to a file that is replaced at each commit.
            with (
                closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as source,
                closing(sqlite3.connect(copy)) as target,
            ):
                source.backup(target)
            self._database.execute(f"ATTACH ? AS {bank}", (str(copy),))
        return path

    def _check(self, path: Path, bank: str) -> None:
        """Check the tables. Raises :class:`JobFailed` if one holds what a bank would not write."""
        for table, types in _TYPES.items():
            for column, kind in types.items():
                query = f"SELECT count(*) FROM {bank}.{table} WHERE typeof({column}) <> '{kind}'"
                (wrong,) = next(self._ask(query))
                if wrong:
                    raise JobFailed(
                        Text(
                            "job.error.no_bank_rows",
                            path=path,
                            wrong=wrong,
                            table=table,
                            kind=Text(f"job.type.{kind}"),
                            column=column,
                        )
                    )
            counted = "balance" if table == "account" else "amount"
            (size,) = next(self._ask(f"SELECT total(abs(CAST({counted} AS REAL))) FROM {bank}.{table}"))
            if size >= _SUM_MAX:
                raise JobFailed(
                    Text("job.error.sum_too_large", path=path, counted=counted, table=table, size=size, limit=_SUM_MAX)
                )

    def uncredited(self) -> list[str]:
        """Return keys of the oldest debits without a credit: the outcome of their messages must not be forgotten."""
        return [key for key, _ in self._database.execute(_UNCREDITED, (UNCREDITED_MAX, 0))]

    def uncredited_beyond(self) -> tuple[int, int] | None:
        """Return the time span in ms of debits that have no credit and are not among :meth:`uncredited`."""
        bounds = self._database.execute(f"SELECT min(at_ms), max(at_ms) FROM ({_UNCREDITED})", (-1, UNCREDITED_MAX))
        first_ms, last_ms = bounds.fetchone()
        return None if first_ms is None else (first_ms, last_ms)

    def add_messages(self, messages: Iterable[tuple[str, str]]) -> None:
        """Add keys of messages and their status."""
        self._database.executemany(_ADD_MESSAGE, messages)

    def compare(self, read_until_ms: int | None = None, unknown: tuple[int, int] | None = None) -> None:
        """Compare, after the last messages were added and before any result is read.

        :param read_until_ms: half messages stored before this time were read, if messages may lag behind the ledgers:
            that of a later debit may not have been read yet. None: all were.
        :param unknown: time span in ms of debits whose messages may not have been read, or may have been read and
            forgotten.
        """
        until_ms = 2**62 if read_until_ms is None else read_until_ms
        from_ms, to_ms = unknown or (1, 0)
        self._database.execute(_TRANSFERS, {"read_until_ms": until_ms, "from_ms": from_ms, "to_ms": to_ms})
        if self._database.execute(_WITHOUT_TRANSFER).rowcount:
            self._leave_out_what_is_newer()

    def _leave_out_what_is_newer(self) -> None:
        """Leave out newer transfers: messages may have been read after the copies were made, and every commit follows
        its debit.
        """
        self._database.commit()
        path = self._attach_copy(PAYING_FILE, "later")
        with _named(path):
            self._database.execute(_DONE_SINCE)

    # --- results -----------------------------------------------------------------------------------------------------

    def money(self) -> Money:
        """Return the sums."""
        in_flight = lost = from_nowhere = problems = 0
        sums = "coalesce(sum(debited), 0), coalesce(sum(credited), 0)"
        for agreement, count, debited, credited in self._ask(
            f"SELECT agreement, count(*), {sums} FROM compared GROUP BY agreement"
        ):
            if agreement in (Agreement.UNDECIDED, Agreement.ON_ITS_WAY):
                in_flight += debited
            elif credited > debited:
                from_nowhere += credited - debited
            else:
                lost += debited - credited
            if agreement in BAD:
                problems += count
        return Money(self._before, self._after, in_flight, lost, from_nowhere, problems)

    def without_transfer(self, known: Sequence[str] = ()) -> list[str]:
        """Return keys of committed messages without a debit. Only the messages show them, so they must not be
        forgotten. If there are too many, those that are ``known`` come first.
        """
        found = self._database.execute(_KEYS_WITHOUT_TRANSFER, (json.dumps(known), WITHOUT_TRANSFER_MAX))
        return [key for (key,) in found]

    def transfer_rows(self) -> list[Sequence[Cell]]:
        """Return (agreement, key, debited, credited, debited at, credited at, message, 0 or 1) of transfers on which
        the books do not agree: some of each kind, the worst kind first.
        """
        return [list(row) for row in self._database.execute(_WORST, (self._rows_max,))]

    def transfer_counts(self) -> list[Sequence[Cell]]:
        """Return (agreement, transfers, those of them that are findings), the worst first."""
        return [list(row) for row in self._ask(_COUNTS)]

    def differing(self) -> int:
        """Return the number of transfers on which the books do not agree."""
        (count,) = next(self._ask(f"SELECT count(*) FROM compared WHERE agreement <> '{Agreement.AGREED}'"))
        return int(count)

    def window_row(self) -> Sequence[Cell]:
        """Return (count, p50, p90, p99, longest) of ms from debit to credit: exact, by nearest rank."""
        counts = f"SELECT credited_ms - debited_ms AS ms, count(*) AS transfers {_BOTH_DONE} GROUP BY ms"
        sums = f"SELECT ms, sum(transfers) OVER (ORDER BY ms) AS up_to, sum(transfers) OVER () AS total FROM ({counts})"
        ranks = (f"min(ms) FILTER (WHERE up_to * 100 >= total * {percent})" for percent in (50, 90, 99))
        return list(next(self._ask(f"SELECT coalesce(max(total), 0), {', '.join(ranks)}, max(ms) FROM ({sums})")))

    def longest_rows(self) -> list[Sequence[Cell]]:
        """Return (key, from, to, ms), the longest first."""
        window = "credited_ms - debited_ms"
        order = f"ORDER BY {window} DESC, key LIMIT {LONGEST_MAX}"
        return [list(row) for row in self._ask(f"SELECT key, debited_ms, credited_ms, {window} {_BOTH_DONE} {order}")]

    def levels(self) -> list[tuple[int, int]]:
        """Return (ms, money in flight) at some 200 instants."""
        first_ms, last_ms = next(self._ask(f"SELECT min(at_ms), max(at_ms) FROM ({_CHANGES})"))
        if first_ms is None:
            return []
        buckets = Buckets.over(first_ms, last_ms)
        bucket = f"(at_ms - {buckets.first_ms}) / {buckets.step_ms}"
        rows = self._ask(f"SELECT {bucket} AS bucket, sum(change) FROM ({_CHANGES}) GROUP BY bucket")
        return buckets.levels(rows)

    def _ask(self, query: str) -> Iterator[Any]:
        return self._database.execute(query)


def check_ledger(path: Path) -> None:
    """Raise :class:`JobFailed` if there is no such file."""
    if not path.is_file():
        raise JobFailed(Text("job.error.no_bank_folder", path=path))


def _producer_group(path: Path) -> str | None:
    bank_id = path.read_text(errors="replace").strip() if path.is_file() else ""
    return f"icbc-{bank_id}" if _BANK_ID.fullmatch(bank_id) else None


@contextmanager
def _named(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise JobFailed(Text("job.error.no_bank", path=path, error=str(error))) from error
