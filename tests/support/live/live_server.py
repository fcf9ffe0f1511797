"""A whole server in this process on free ports: engine thread, page, stream. For tests that go over real sockets."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import urllib.error
import urllib.request

from click.testing import CliRunner

from app.command_line import main
from app.observation.recent_log import RecentLog
from app.server import PageSettings, Server
from engine.broker.foundation.broker_config import BrokerConfig
from engine.client.callbacks.transaction_listener import LocalTransactionState
from engine.client.producer.default_mq_producer import DefaultMQProducer
from engine.live.live_machines import LiveHostSettings
from engine.name_server.name_server_config import NameServerConfig
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.message.message import Message
from engine.runtime.live.live_tls import ServerTls
from engine.store.files.store_config import MessageStoreConfig
from tests.support.waiting import wait_until


class ObedientListener:
    """Ends local transactions as the argument says, and never knows later on."""

    def execute_local_transaction(self, message, argument):
        return argument

    def check_local_transaction(self, message):
        return LocalTransactionState.UNKNOW


class LiveServer:
    """Start it in a ``with``; ``server.host`` is the LiveHost."""

    def __init__(
        self,
        data_folder,
        *,
        store=None,
        broker=None,
        page=True,
        tls=None,
        allow_faults=False,
        also_register=(),
        slave_of=None,
    ):
        settings = LiveHostSettings(
            data_folder=data_folder,
            name_server=NameServerConfig(port=0),
            broker=broker or BrokerConfig(port=0),
            store=store or MessageStoreConfig(mapped_file_size_commit_log=1024 * 1024),
            tls=tls or ServerTls(),
            allow_faults=allow_faults,
            also_register=tuple(also_register),
            slave_of=slave_of,
        )
        self.recent_log = RecentLog()
        self.server = Server(settings, PageSettings(port=0) if page else None, self.recent_log)

    def __enter__(self):
        self._logger = logging.getLogger("glassmq")
        self._logger.addHandler(self.recent_log)
        self._logger.setLevel(logging.INFO)
        try:
            self.server.start()
        except BaseException:
            self._restore_log()
            raise
        return self

    def __exit__(self, *_):
        self.server.stop()
        self._restore_log()

    def _restore_log(self):
        self._logger.removeHandler(self.recent_log)
        # The last server that runs, in whatever order they end.
        if not any(isinstance(handler, RecentLog) for handler in self._logger.handlers):
            self._logger.setLevel(logging.NOTSET)

    @property
    def host(self):
        return self.server.host

    @property
    def name_servers(self):
        return (self.server.host.name_server_address,)

    def get(self, path):
        """``(status, parsed JSON)`` of a request to the page server."""
        return self.ask("GET", path)

    def ask(self, method, path, body=None, content_type="application/json"):
        """The same for a request that changes something."""
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        url = f"http://{self.server.page_address}{path}"
        request = urllib.request.Request(url, data, {"Content-Type": content_type}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)

    def post(self, path, body, headers=None):
        """``(status, parsed JSON, or text)`` of JSON (or bytes) sent to the page server."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        address = f"http://{self.server.page_address}{path}"
        request = urllib.request.Request(address, data, {"Content-Type": "application/json", **(headers or {})})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                text = error.read().decode()
                return error.code, json.loads(text) if text.startswith(("{", "[")) else text

    def tool(self, *arguments, **options):
        """What a command against these servers came to."""
        command = [*arguments, "--name-server", *self.name_servers]
        return CliRunner().invoke(main, command, prog_name="glassmq", **options)

    def find(self, topic, key, limit):
        """Summaries of the messages of ``topic`` with this key, newest first."""
        return self.host.ask(lambda live: live.operator.by_key(topic, key, limit))

    def send(self, *messages, group="test_producer"):
        """Send messages with our client; the results."""
        return asyncio.run(self._send(messages, group))

    async def _send(self, messages, group):
        async with DefaultMQProducer(None, group, self.name_servers) as producer:
            return [await producer.send(message) for message in messages]

    def create_topic(self, topic, queues=4):
        """Create a topic, as a producer's program may."""
        asyncio.run(self._create_topic(topic, queues))

    async def _create_topic(self, topic, queues):
        async with DefaultMQProducer(None, "test_producer", self.name_servers) as producer:
            await producer.create_topic(topic, queues)

    def lock(self, group, topic, queue_id, client_id):
        """Lock one queue for a client, as an orderly consumer would."""
        broker = self.host._machines.broker
        queue = MessageQueue(topic, broker.config.broker_name, queue_id)
        thread, _ = self.host._engine()
        return thread.call(lambda: broker.rebalance_lock_manager.try_lock_batch(group, [queue], client_id))

    def break_it(self, kind, target="broker-a", **fields):
        """Give the engine a command of the lab; what is broken then."""
        return self.host.faults.apply({"kind": kind, "target": target, **fields})

    def faults_when(self, condition):
        """Return the active faults, once ``condition`` holds for them; fails after two minutes."""
        return wait_until(
            lambda: view if condition(view := self.host.faults.view()) else None,
            "the faults that the test needs",
            120,
            seen=self.host.faults.view,
        )

    def state_when(self, condition):
        """Return the first state for which ``condition`` holds; fails after two minutes."""

        def state_that_fits():
            state = self.host.state()
            with contextlib.suppress(KeyError, IndexError, TypeError):
                return state if condition(state) else None

        return wait_until(
            state_that_fits,
            "the state that the test needs",
            120,
            seen=lambda: json.dumps(self.host.state(), default=str)[:2000],
        )


def message(topic, body="hello", **options):
    return Message(topic, body.encode() if isinstance(body, str) else body, **options)
