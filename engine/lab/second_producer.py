"""The producer that a consumer's application has beside its consumer: it lives and dies with the same process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.client.default_mq_producer import DefaultMQProducer

if TYPE_CHECKING:
    from engine.lab.consumer_role import ConsumerRole


class SecondProducer:
    """:param purpose: makes the producer's group: the consumer's, ``-`` and this."""

    def __init__(self, role: ConsumerRole, purpose: str) -> None:
        self._role = role
        self._group = f"{role.spec.group}-{purpose}"
        self._started: DefaultMQProducer | None = None

    async def start(self, settings: dict[str, Any]) -> None:
        """The process starts."""
        role = self._role
        producer = DefaultMQProducer(role.runtime, self._group, role.world.name_server_address, **settings)
        await producer.start()
        self._started = producer

    async def stop(self) -> None:
        """The process ends in order."""
        if self._started is not None:
            await self._started.shutdown()

    def forget(self) -> None:
        """The process has ended."""
        self._started = None

    @property
    def _producer(self) -> DefaultMQProducer:
        assert self._started is not None, "a listener is called while its process runs"
        return self._started
