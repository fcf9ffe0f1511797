"""A consumer that dies in its listener: another one gets the message again.

Caught: work that is not idempotent. The order would be billed twice, because the first process had done the work and
not confirmed it.
"""

import asyncio
import subprocess
import sys
from pathlib import Path

from engine.client import DefaultMQProducer, Message
from engine.testkit import GlassMQ

SERVICE = Path(__file__).with_name("billing_service.py")


def test_an_order_is_billed_once_although_its_consumer_died(glassmq: GlassMQ, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    command = [sys.executable, str(SERVICE), glassmq.name_server_address, str(ledger)]

    async def order() -> None:
        async with DefaultMQProducer(None, "shop", glassmq.name_server_address) as producer:
            await producer.send(Message("orders", b"10", keys="order-17"))

    asyncio.run(order())
    assert subprocess.run([*command, "die"], timeout=60).returncode == 1
    assert glassmq.lag("billing", "orders") == 1

    with subprocess.Popen(command) as service:
        try:
            glassmq.assert_consumed("billing", "orders", key="order-17", timeout=60)
        finally:
            service.kill()
    assert ledger.read_text().split() == ["order-17"]
