"""A node that is a producer: an application that sends the scenario's traffic."""

from __future__ import annotations

import asyncio
from typing import Any

from engine.bank.bank_action import Doing
from engine.client.foundation.client_config import ClientConfig
from engine.client.producer.default_mq_producer import DefaultMQProducer
from engine.client.producer.producer_config import ProducerConfig
from engine.client.producer.transaction_mq_producer import TransactionMQProducer
from engine.lab.nodes.cash_machine import CUSTOMER, CashMachine
from engine.lab.nodes.local_transactions import BankTransactions, LocalTransactions
from engine.lab.nodes.node_banks import NodePayingBank
from engine.lab.nodes.scenario_node import MemberNode, WorldContext
from engine.lab.nodes.traffic_sender import TrafficSender
from engine.lab.scenario.kinds.producer import ProducerSpec
from engine.lab.scenario.settings import of_class
from engine.lab.work.identifiers import IdentifierConfig, IdentifierMaker
from engine.runtime.future_waits import cancel_all


class ProducerNode(MemberNode):
    """A producer's node.

    :ivar producer: None while the process does not run.
    :ivar sender: what was sent, and the outcomes.
    :ivar node_bank: None for a node without a bank.
    :ivar local_transactions: None for a producer of ordinary messages.
    :ivar cash_machine: None if its bank has no cash machine.
    """

    spec: ProducerSpec

    producer: DefaultMQProducer | None = None

    def __init__(self, world: WorldContext, spec: ProducerSpec) -> None:
        super().__init__(world, spec)
        self.node_bank = NodePayingBank(self, spec.bank) if spec.bank is not None else None
        self.sender = TrafficSender(self, spec.traffic, self.node_bank)
        self.local_transactions = self._make_local_transactions()
        machine = spec.cash_machine
        self.cash_machine = (
            CashMachine(self, machine, self._look_up_balance, self._who_debits) if machine is not None else None
        )
        self._traffic_tasks: list[asyncio.Task[None]] = []

    @property
    def is_done(self) -> bool:
        """Return whether all traffic was sent and every send has ended."""
        if self.local_transactions is not None and self.local_transactions.running:
            return False
        return self.sender.is_done

    def _make_local_transactions(self) -> LocalTransactions | None:
        spec = self.spec.transaction
        if spec is None:
            return None
        listener = (self, spec, self._transactions_of_group, self.sender.half_message_stored)
        return LocalTransactions(*listener) if self.node_bank is None else BankTransactions(self.node_bank, *listener)

    def _transactions_of_group(self) -> list[LocalTransactions]:
        producers = [role for role in self.world.roles(ProducerNode) if role.spec.group == self.spec.group]
        return [role.local_transactions for role in producers if role.local_transactions is not None]

    def is_moving(self, key: str) -> bool:
        bank = self.node_bank.bank if self.node_bank is not None else None
        return bank is not None and key in bank.paying

    def locked_since_us(self, key: str, known_us: int | None) -> int | None:
        return self.node_bank.locked_since_us(key) if self.node_bank is not None else None

    def sends_in_transactions(self, topic: str) -> bool:
        return self.local_transactions is not None

    @property
    def numbers_messages(self) -> bool:
        """Return whether its client numbers its messages: by the setting, else by the traffic."""
        is_numbered = any(traffic.numbered for traffic in self.spec.traffic)
        return bool(self.settings.get("number_messages", is_numbered))

    async def _start(self) -> None:
        if self.node_bank is not None:
            self.node_bank.start()
        self.sender.identifiers = IdentifierMaker(self.runtime.clock, self._identifier_config)
        producer = self._make_producer()
        self.producer = producer
        await producer.start()
        self._traffic_tasks = self.sender.start(producer)
        if self.cash_machine is not None:
            self._traffic_tasks.append(asyncio.create_task(self.cash_machine.run(), name=CUSTOMER))

    def _who_debits(self) -> str:
        """Return the key of the open local transaction; empty if no transaction is open."""
        bank = self.node_bank.bank if self.node_bank is not None else None
        actions = bank.open.values() if bank is not None else ()
        return next((action.key for action in actions if action.doing is Doing.DEBIT), "")

    async def _look_up_balance(self) -> int | None:
        """Return the balance as a withdrawal would: after the local transaction that has the database now."""
        node_bank = self.node_bank
        assert node_bank is not None and node_bank.bank is not None, "a cash machine is part of a bank's process"
        accounts = node_bank.bank.accounts
        async with accounts.database.lock:
            return accounts.committed_balance(node_bank.spec.account)

    def _identifier_config(self) -> IdentifierConfig:
        return self.config(IdentifierConfig)

    def _make_producer(self) -> DefaultMQProducer:
        settings: dict[str, Any] = of_class(ProducerConfig, self.settings) | of_class(ClientConfig, self.settings)
        settings["number_messages"] = self.numbers_messages
        group, name_server = self.spec.group, self.world.name_server_address
        if self.local_transactions is None:
            return DefaultMQProducer(self.runtime, group, name_server, **settings)
        return TransactionMQProducer(self.runtime, group, name_server, self.local_transactions, **settings)

    async def _stop(self) -> None:
        await cancel_all(self._traffic_tasks)
        self._end_calls()
        if self.producer is not None:
            await self.producer.shutdown()

    def _forget(self) -> None:
        self.producer = None
        self._traffic_tasks = []
        self._end_calls()
        if self.node_bank is not None:
            self.node_bank.forget()

    def _end_calls(self) -> None:
        self.sender.forget()
        if self.cash_machine is not None:
            self.cash_machine.forget()
        if self.local_transactions is not None:
            self.local_transactions.forget_running()
