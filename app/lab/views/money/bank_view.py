"""The banks of a world: their balances, and the money between them."""

from __future__ import annotations

from bisect import insort
from itertools import islice
from typing import TYPE_CHECKING

from app.lab.foundation.bounds import BANK_ROWS_SHOWN, IN_FLIGHT_SHOWN, MONEY_SERIES_SHOWN, WINDOWS_SHOWN
from app.observation.unix_time import world_us
from engine.bank.accounts import Accounts
from engine.lab.nodes.money_flow import MoneyFlow
from engine.lab.scenario.switches import IDEMPOTENT_CONSUMER

if TYPE_CHECKING:
    from app.picture.world.bank import Bank, BankAccount, Money, MoneyWindow, OpenAction, Posting, RefusedAction
    from engine.bank import bank as engine_bank
    from engine.bank.paying_bank import PayingBank
    from engine.bank.receiving_bank import ReceivingBank
    from engine.lab.nodes.consumer_node import ConsumerNode
    from engine.lab.nodes.history import BankEntry
    from engine.lab.nodes.producer_node import ProducerNode
    from engine.lab.nodes.scenario_node import ScenarioNode
    from engine.lab.world.world import ScenarioWorld


def bank_view(role: ProducerNode | ConsumerNode) -> Bank | None:
    """Return the bank of a node; None when the node is not a bank."""
    node_bank = role.node_bank
    if node_bank is None:
        return None
    spec, bank = node_bank.spec, node_bank.bank
    return {
        "name": spec.name,
        "account": spec.account,
        "opening": spec.opening,
        "way": None if spec.way is None else spec.way.value,
        "idempotent": IDEMPOTENT_CONSUMER not in role.switched_off if spec.way is None else None,
        "refused": [refused_view(entry) for entry in node_bank.refused],
        "duplicates_ignored": node_bank.duplicates_ignored,
        **(_resting(role) if bank is None else _running(role, bank)),
    }


def refused_view(entry: BankEntry) -> RefusedAction:
    """Return an action that was refused."""
    return {
        "key": entry.key,
        "amount": entry.amount,
        "time_us": entry.time_us,
        "doing": entry.doing,
        "reason": entry.outcome,
    }


def _running(role: ProducerNode | ConsumerNode, bank: PayingBank | ReceivingBank) -> BankAccount:
    assert role.node_bank is not None
    account, accounts = role.node_bank.spec.account, bank.accounts
    lock = accounts.database.lock
    return {
        "balance": accounts.balance(account),
        "committed_balance": accounts.committed_balance(account),
        "is_locked": lock.is_locked,
        "waiters": list(lock.waiters),
        "open": open_actions(bank),
        "rows": posting_rows(role, accounts, role.node_bank.spec.table),
    }


def open_actions(bank: engine_bank.Bank) -> list[OpenAction]:
    """Return what a bank is doing."""
    return [
        {"key": action.key, "amount": action.amount, "since_us": action.since_us, "doing": action.doing.value}
        for action in islice(bank.open.values(), IN_FLIGHT_SHOWN)
    ]


def account_without_database() -> BankAccount:
    """Return the account of a bank whose database does not exist yet."""
    return {
        "balance": None,
        "committed_balance": None,
        "is_locked": False,
        "waiters": [],
        "open": [],
        "rows": [],
    }


def _resting(role: ProducerNode | ConsumerNode) -> BankAccount:
    assert role.node_bank is not None
    account = account_without_database()
    database = role.node_bank.at_rest()
    if database is None:
        return account
    try:
        accounts = Accounts(database)
        account["balance"] = account["committed_balance"] = accounts.committed_balance(role.node_bank.spec.account)
        account["rows"] = posting_rows(role, accounts, role.node_bank.spec.table)
        return account
    finally:
        database.close()


def posting_rows(role: ScenarioNode, accounts: Accounts, table: str) -> list[Posting]:
    """Return the newest rows of the database table ``table`` as JSON, each with its state."""
    committed = {row.key: row.times for row in accounts.newest(table, BANK_ROWS_SHOWN + 1)}
    begin_ms = role.runtime.clock.begin_ms
    return [
        {
            "key": row.key,
            "amount": row.amount,
            "time_us": world_us(row.at_ms, begin_ms),
            "state": "committed" if committed.get(row.key) == row.times else "open",
            "times": row.times,
        }
        for row in accounts.newest(table, BANK_ROWS_SHOWN, committed=False)
    ]


class MoneyView:
    """The money of one world; each call reads only what is new since the last one."""

    def __init__(self, world: ScenarioWorld) -> None:
        self._entries = world.history.bank_entries
        self._has_banks = world.scenario.has_banks
        self._read = 0
        self._flow = MoneyFlow()
        self._series: list[tuple[int, int, int, int, int]] = [(0, 0, 0, 0, 0)]
        #: Lengths of the closed windows, sorted; and the transfers that have one.
        self._lengths: list[int] = []
        self._closed: dict[str, None] = {}
        self._built: Money | None = None

    def build(self) -> Money | None:
        """Return the money; the same object as long as nothing happens."""
        if not self._has_banks:
            return None
        if self._built is None or self._read != len(self._entries):
            for entry in self._entries[self._read :]:
                self._take(entry)
            self._read = len(self._entries)
            self._built = self._view()
        return self._built

    def _take(self, entry: BankEntry) -> None:
        transfer = self._flow.take(entry)
        if transfer is None:
            return
        flow = self._flow
        point = (entry.time_us, flow.debited, flow.credited, flow.in_flight, flow.from_nowhere)
        if point[1:] != self._series[-1][1:]:
            self._series.append(point)
        if len(self._series) > MONEY_SERIES_SHOWN:
            # Half of the points, including the first and the last, still show the course of a long run.
            self._series = self._series[::2] + ([] if len(self._series) % 2 else self._series[-1:])
        length = transfer.window_us
        if length is not None and transfer.key not in self._closed:
            self._closed[transfer.key] = None
            insort(self._lengths, length)

    def _view(self) -> Money:
        flow, lengths = self._flow, self._lengths
        begun = [transfer for transfer in flow.transfers.values() if transfer.debited or transfer.credited]
        windows: list[MoneyWindow] = [
            {
                "key": transfer.key,
                "debited": transfer.debited,
                "credited": transfer.credited,
                "debited_us": transfer.debited_us,
                "credited_us": transfer.credited_us,
            }
            for transfer in begun[-WINDOWS_SHOWN:]
        ]
        series = [list(point) for point in self._series]
        return {
            "debited": flow.debited,
            "credited": flow.credited,
            "in_flight": flow.in_flight,
            "from_nowhere": flow.from_nowhere,
            "series": series,
            "windows": windows,
            "longest_us": lengths[-1] if lengths else None,
            "median_us": lengths[len(lengths) // 2] if lengths else None,
            "open_count": len(begun) - len(self._closed),
        }
