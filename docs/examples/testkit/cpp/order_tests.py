"""Tests with unittest and the C++ client (PyPI ``rocketmq``), which is what Python services of RocketMQ 4 often use.

``glassmq`` may be installed in another environment: only the command has to be on ``PATH``.
"""

import json
import subprocess
import tempfile
import time
import unittest
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from rocketmq.client import Message, Producer


class GlassMQ:
    """A RocketMQ broker for tests, from ``start`` to ``stop``."""

    def start(self) -> None:
        """Start the command, and wait for its ready file."""
        self._folder = tempfile.TemporaryDirectory()
        ready = Path(self._folder.name, "ready.json")
        command = ["glassmq", "serve", "--ephemeral", "--exit-with-parent", "--ready-file", str(ready)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        while not ready.exists():
            if self._process.poll() is not None:
                raise RuntimeError("glassmq did not start")
            time.sleep(0.02)
        addresses = json.loads(ready.read_text("utf-8"))
        self.name_server, self._api = addresses["name_server_address"], addresses["api"]

    def call(self, method: str, path: str, **parameters: object) -> Any:
        """Carry out an operation of /api/testkit; a failed check raises what was there."""
        body = json.dumps(parameters).encode() if parameters else None
        request = urllib.request.Request(self._api + path, body, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as refusal:
            raise AssertionError(json.load(refusal)["error"]) from None

    def stop(self) -> None:
        """End it."""
        self._process.communicate()
        self._folder.cleanup()


class OrdersTest(unittest.TestCase):
    """Tests of a service that announces orders."""

    glassmq = GlassMQ()

    @classmethod
    def setUpClass(cls) -> None:
        """Start a broker for all tests."""
        cls.glassmq.start()
        cls.addClassCleanup(cls.glassmq.stop)

    def setUp(self) -> None:
        """Begin with an empty broker; afterwards a fault that acted on no frame fails the test."""
        self.glassmq.call("POST", "/reset")
        self.addCleanup(self.glassmq.call, "DELETE", "/faults")
        self.producer = Producer("shop")
        self.producer.set_namesrv_addr(self.glassmq.name_server)
        self.producer.start()
        self.addCleanup(self.producer.shutdown)

    def place(self, order: str) -> None:
        """The service under test."""
        message = Message("orders")
        message.set_keys(order)
        message.set_tags("placed")
        message.set_body("10")
        self.producer.send_sync(message)

    def test_an_order_is_announced(self) -> None:
        self.place("17")
        self.glassmq.call("POST", "/assert-sent", topic="orders", key="17", tag="placed", count=1)

    def test_an_order_is_announced_although_the_broker_is_slow(self) -> None:
        rule = self.glassmq.call("POST", "/faults", what="delay", frame="SEND_MESSAGE", ms=200)
        self.place("17")
        assert self.glassmq.call("GET", f"/faults/{rule['fault_id']}")["hits"] == 1
        self.glassmq.call("POST", "/assert-sent", topic="orders", key="17")


if __name__ == "__main__":
    unittest.main()
