"""A node that is a producer: an application that sends the traffic of the scenario, one message after the other."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from engine.bank.bank_deed import Doing
from engine.client.default_mq_producer import DefaultMQProducer
from engine.client.errors import MQClientError
from engine.client.message_queue_selector import (
    MessageQueueSelector,
    SelectMessageQueueByConsistentHash,
    select_message_queue_by_hash,
)
from engine.client.send_result import SendResult
from engine.client.transaction_mq_producer import TransactionMQProducer
from engine.lab.bank_transactions import BankTransactions
from engine.lab.cash_machine import CUSTOMER, CashMachine
from engine.lab.history import SendInvoked, SendReturned
from engine.lab.local_transactions import LocalTransactions
from engine.lab.node_banks import NodePayingBank
from engine.lab.node_role import LabNodeRole
from engine.lab.scenario import NodeSpec
from engine.lab.traffic_spec import TrafficSpec
from engine.protocol.message import Message
from engine.protocol.message_queue import MessageQueue

if TYPE_CHECKING:
    from engine.lab.world import ScenarioWorld


class ProducerRole(LabNodeRole):
    """:ivar producer: None while the process does not run.

    :ivar sent: how many messages it began to send; each ends in one of ``acknowledged``, ``refused`` (certainly not
        stored) and ``unknown`` (nobody can tell), unless the process crashes before.
    :ivar in_flight: key -> virtual time in us at which the send began.
    :ivar node_bank: None for one that is no bank.
    :ivar local_transactions: None for a producer of ordinary messages.
    :ivar cash_machine: None where nobody looks up the balance of its bank.
    """

    producer: DefaultMQProducer | None = None

    def __init__(self, world: ScenarioWorld, spec: NodeSpec) -> None:
        super().__init__(world, spec)
        self.sent = self.acknowledged = self.refused = self.unknown = 0
        self.in_flight: dict[str, int] = {}
        self.node_bank = NodePayingBank(self, spec.bank) if spec.bank is not None else None
        self.local_transactions = self._make_local_transactions()
        machine = spec.cash_machine
        self.cash_machine = (
            CashMachine(self, machine, self._look_up_balance, self._who_debits) if machine is not None else None
        )
        #: Next message of each traffic: after a crash the application goes on with the one after.
        self.next_numbers = [0] * len(spec.traffic)
        self._consistent_hash = SelectMessageQueueByConsistentHash()
        self._traffic_tasks: list[asyncio.Task[None]] = []

    @property
    def failed(self) -> int:
        """Sends that were not acknowledged."""
        return self.refused + self.unknown

    @property
    def is_done(self) -> bool:
        """Whether all traffic was sent and every send has ended."""
        counts = [traffic.count for traffic in self.spec.traffic]
        if self.in_flight or (self.local_transactions is not None and self.local_transactions.running):
            return False
        return all(done >= count for done, count in zip(self.next_numbers, counts, strict=True))

    def _make_local_transactions(self) -> LocalTransactions | None:
        spec = self.spec.transaction
        if spec is None:
            return None
        return LocalTransactions(self, spec) if self.node_bank is None else BankTransactions(self, spec, self.node_bank)

    def is_moving(self, key: str) -> bool:
        """See :class:`LabNodeRole`."""
        bank = self.node_bank.bank if self.node_bank is not None else None
        return bank is not None and key in bank.paying

    async def _start(self) -> None:
        if self.node_bank is not None:
            self.node_bank.start()
        producer = self._make_producer()
        self.producer = producer
        await producer.start()
        self._traffic_tasks = [
            asyncio.create_task(self._send_all(producer, index, traffic), name=f"sends {traffic.topic}")
            for index, traffic in enumerate(self.spec.traffic)
        ]
        if self.cash_machine is not None:
            self._traffic_tasks.append(asyncio.create_task(self.cash_machine.run(), name=CUSTOMER))

    def _who_debits(self) -> str:
        """The key of the open local transaction; empty: there is none."""
        bank = self.node_bank.bank if self.node_bank is not None else None
        deeds = bank.open.values() if bank is not None else ()
        return next((deed.key for deed in deeds if deed.doing is Doing.DEBIT), "")

    async def _look_up_balance(self) -> int | None:
        """As a withdrawal would: after whatever local transaction has the database now."""
        node_bank = self.node_bank
        assert node_bank is not None and node_bank.bank is not None, "a cash machine is part of a bank's process"
        accounts = node_bank.bank.accounts
        async with accounts.database.lock:
            return accounts.committed_balance(node_bank.spec.account)

    def _make_producer(self) -> DefaultMQProducer:
        settings = cast("dict[str, Any]", self.settings)
        group, name_server = self.spec.group, self.world.name_server_address
        if self.local_transactions is None:
            return DefaultMQProducer(self.runtime, group, name_server, **settings)
        return TransactionMQProducer(self.runtime, group, name_server, self.local_transactions, **settings)

    async def _send_all(self, producer: DefaultMQProducer, index: int, traffic: TrafficSpec) -> None:
        await self.until(traffic.start_ms)
        while self.next_numbers[index] < traffic.count:
            begun_us = self.world.now_us
            number = self.next_numbers[index]
            self.next_numbers[index] = number + 1
            await self._pay_or_send(producer, traffic, number)
            remaining_us = begun_us + traffic.every_ms * 1_000 - self.world.now_us
            if remaining_us > 0 and self.next_numbers[index] < traffic.count:
                await asyncio.sleep(remaining_us / 1_000_000)

    async def _pay_or_send(self, producer: DefaultMQProducer, traffic: TrafficSpec, number: int) -> None:
        key = traffic.fill_in(traffic.key, self.name, number)
        if self.node_bank is None:
            body = traffic.fill_in(traffic.body, self.name, number).encode()
            await self._send(producer, traffic, number, key, body)
            return
        transfer, bank = self.node_bank.transfer(key), self.node_bank.bank
        assert bank is not None, "it sends while its process runs"
        await bank.pay(transfer, lambda: self._send(producer, traffic, number, key, transfer.body))

    async def _send(
        self, producer: DefaultMQProducer, traffic: TrafficSpec, number: int, key: str, body: bytes
    ) -> SendResult | None:
        """The result; None where it was not acknowledged."""
        tags = traffic.tags
        tag = traffic.fill_in(tags[number % len(tags)], self.name, number) if tags else None
        message = Message(traffic.topic, body, tags=tag, keys=key, delay_level=traffic.delay_level)
        world = self.world
        world.history.sends_invoked.append(SendInvoked(world.event_number, world.now_us, self.name, key, traffic.topic))
        self.sent += 1
        self.in_flight[key] = world.now_us
        status, detail, queue, offset, message_id = "ok", "", MessageQueue(traffic.topic, "", -1), -1, ""
        result: SendResult | None = None
        try:
            result = await self._send_message(producer, traffic, message, number)
        except MQClientError as error:
            status, detail = "refused" if error.outcome_is_known else "unknown", str(error)
            if error.outcome_is_known:
                self.refused += 1
            else:
                self.unknown += 1
        else:
            self.acknowledged += 1
            queue, offset, message_id = result.message_queue, result.queue_offset, result.offset_message_id
            detail = result.status.value
        self.in_flight.pop(key, None)
        world.history.sends_returned.append(
            SendReturned(
                world.event_number,
                world.now_us,
                self.name,
                key,
                status,
                traffic.topic,
                queue.queue_id,
                offset,
                message_id,
                queue.broker_name,
                detail,
            )
        )
        return result

    async def _send_message(
        self, producer: DefaultMQProducer, traffic: TrafficSpec, message: Message, number: int
    ) -> SendResult:
        if isinstance(producer, TransactionMQProducer):
            return (await producer.send_message_in_transaction(message, number)).send_result
        if traffic.queue is None:
            return await producer.send(message)
        selector, argument = self._selector(traffic, traffic.queue, number)
        return await producer.send(message, selector=selector, selector_argument=argument)

    def half_message_stored(self, key: str) -> None:
        """The send has ended; the local transaction begins."""
        self.in_flight.pop(key, None)

    def _selector(self, traffic: TrafficSpec, queue: int | str, number: int) -> tuple[MessageQueueSelector, object]:
        match queue:
            case "by-hash":
                return select_message_queue_by_hash, traffic.business_key(number)
            case "by-consistent-hash":
                return self._consistent_hash, traffic.business_key(number)
            case "{n}":
                return _nth_queue, number
            case _:
                return _nth_queue, int(queue)

    async def _stop(self) -> None:
        for task in self._traffic_tasks:
            task.cancel()
        await asyncio.gather(*self._traffic_tasks, return_exceptions=True)
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
        self.in_flight.clear()
        if self.cash_machine is not None:
            self.cash_machine.forget()
        if self.local_transactions is not None:
            self.local_transactions.forget_running()


def _nth_queue(queues: Sequence[MessageQueue], message: Message, argument: object) -> MessageQueue:
    assert isinstance(argument, int)
    return queues[argument % len(queues)]
