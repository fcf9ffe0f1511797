"""What can be switched off in a world: the three locks of ordered consumption, the ``consuming`` flag, idempotence.

A switch is a matter of the machine, as its settings are: it outlives the process and counts at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.lab.scenario import Role

if TYPE_CHECKING:
    from engine.broker.broker import Broker
    from engine.client.default_mq_push_consumer import DefaultMQPushConsumer

BROKER_LOCK = "broker-lock"
MESSAGE_QUEUE_LOCK = "message-queue-lock"
PROCESS_QUEUE_LOCK = "process-queue-lock"
CONSUMING_FLAG = "consuming-flag"
IDEMPOTENT_CONSUMER = "idempotent-consumer"


@dataclass(frozen=True, slots=True)
class Switch:
    """One switch. ``name`` and ``what`` are for people, by language.

    :ivar role: the nodes that have it.
    """

    role: Role
    name: Mapping[str, str]
    what: Mapping[str, str]


def _switch(role: Role, name: tuple[str, str], what: tuple[str, str]) -> Switch:
    return Switch(role, {"en": name[0], "zh": name[1]}, {"en": what[0], "zh": what[1]})


SWITCHES: Mapping[str, Switch] = {
    BROKER_LOCK: _switch(
        Role.BROKER,
        ("Broker lock", "Broker 锁"),
        (
            "Only one client of a group holds a queue. Off: the broker grants every lock to everybody.",
            "一个消费组内只有一个客户端持有某个队列。关闭后：Broker 把任何锁授予任何人。",
        ),
    ),
    MESSAGE_QUEUE_LOCK: _switch(
        Role.CONSUMER,
        ("MessageQueue lock", "MessageQueue 本地锁"),
        (
            "Only one worker of a process turns to a queue at a time. Off: several may.",
            "进程内同一时刻只有一个线程处理某个队列。关闭后：可以有多个。",
        ),
    ),
    PROCESS_QUEUE_LOCK: _switch(
        Role.CONSUMER,
        ("ProcessQueue consume lock", "ProcessQueue 消费锁"),
        (
            "A queue is not given away while its listener runs. Off: it is.",
            "监听器运行期间不会交出队列。关闭后：会交出。",
        ),
    ),
    CONSUMING_FLAG: _switch(
        Role.CONSUMER,
        ("consuming flag", "consuming 标志"),
        (
            "A queue has one chain of consume requests. Off: every pull that brings messages starts a further one.",
            "每个队列只有一条消费请求链。关闭后：每次拉到消息都会再启动一条。",
        ),
    ),
    # Read at each call, see engine.lab.node_banks: nothing needs to be set.
    IDEMPOTENT_CONSUMER: _switch(
        Role.CONSUMER,
        ("idempotent bank", "银行幂等"),
        (
            "A receiving bank ignores a transfer that it has credited already. Off: it credits as often as it is told.",
            "收款银行忽略已经入账的转账。关闭后：消息来几次就入账几次。",
        ),
    ),
}


def apply_to_broker(broker: Broker, switched_off: Mapping[str, None]) -> None:
    """Set the switches of a running process."""
    broker.rebalance_lock_manager.enabled = BROKER_LOCK not in switched_off


def apply_to_consumer(consumer: DefaultMQPushConsumer, switched_off: Mapping[str, None]) -> None:
    """Set the switches of a process, running or about to start."""
    switches = consumer.orderly_switches
    switches.message_queue_lock = MESSAGE_QUEUE_LOCK not in switched_off
    switches.consume_lock = PROCESS_QUEUE_LOCK not in switched_off
    switches.consuming_flag = CONSUMING_FLAG not in switched_off
