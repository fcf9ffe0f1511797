"""``glassmq serve`` with TLS and rules, and what the small commands and our client need to get in."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from app.command_line import main
from engine.broker.foundation.broker_config import BrokerConfig
from engine.client import DefaultMQProducer, DefaultMQPushConsumer, Message
from engine.client.callbacks.consume_concurrently import ConsumeConcurrentlyStatus
from engine.client.foundation.errors import IllegalClientArgument, MQClientError
from engine.protocol.enums import ConsumeFromWhere
from engine.runtime.live.live_runtime import LiveRuntime
from engine.runtime.live.live_tls import ClientTls, ServerTls, TlsMode
from tests.support.live.certificates import Certificates, make_certificates
from tests.support.live.live_server import LiveServer

RULES = """\
accounts:
  - {accessKey: shop-key, secretKey: shop-secret, defaultTopicPerm: PUB|SUB, defaultGroupPerm: SUB,
     groupPerms: [secret=DENY]}
"""
KEYS = {"access_key": "shop-key", "secret_key": "shop-secret"}


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory, certificates: Certificates) -> Iterator[LiveServer]:
    """A server that speaks TLS only, wants certificates of clients, and has rules."""
    folder = tmp_path_factory.mktemp("guarded") / "data"
    (folder / "config").mkdir(parents=True)
    (folder / "config" / "plain_acl.yml").write_text(RULES, "ascii")
    tls = ServerTls(TlsMode.ENFORCING, certificates.certificate, certificates.key, certificates.ca)
    with LiveServer(folder, broker=BrokerConfig(port=0, acl_enable=True), page=False, tls=tls) as live:
        yield live


def client_tls(certificates: Certificates) -> ClientTls:
    return ClientTls(ca=certificates.ca, certificate=certificates.client_certificate, key=certificates.client_key)


async def send_and_receive(servers: tuple[str, ...], **settings: object) -> list[bytes]:
    received: list[bytes] = []
    enough = asyncio.Event()

    async def listen(messages, context):
        received.extend(message.body for message in messages)
        enough.set()
        return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

    async with DefaultMQProducer(None, "shops", servers, **settings) as producer:
        await producer.send(Message("orders", b"one"))
    first = ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET
    consumer = DefaultMQPushConsumer(None, "billing", servers, consume_from_where=first, **settings)
    consumer.subscribe("orders")
    consumer.register_message_listener(listen)
    await consumer.start()
    try:
        async with asyncio.timeout(60):
            await enough.wait()
    finally:
        await consumer.shutdown()
    return received


def test_our_client_sends_and_receives_with_a_certificate_and_an_account(
    guarded: LiveServer, certificates: Certificates
) -> None:
    received = asyncio.run(send_and_receive(guarded.name_servers, tls=client_tls(certificates), **KEYS))
    assert received == [b"one"]


@pytest.mark.parametrize("left_out", ["tls", "certificate", "keys"])
def test_without_one_of_them_it_does_not_get_in(guarded: LiveServer, certificates: Certificates, left_out: str) -> None:
    settings = {"tls": client_tls(certificates), **KEYS}
    if left_out == "tls":
        del settings["tls"]
    elif left_out == "certificate":
        settings["tls"] = ClientTls(ca=certificates.ca)
    else:
        settings = {"tls": settings["tls"]}

    async def send() -> None:
        async with DefaultMQProducer(None, "shops", guarded.name_servers, **settings) as producer:
            await producer.send(Message("orders", b"never"))

    with pytest.raises(MQClientError, match="No accessKey is configured" if left_out == "keys" else None):
        asyncio.run(send())


def test_tls_beside_a_runtime_is_refused_because_the_runtime_decides(certificates: Certificates) -> None:
    with pytest.raises(IllegalClientArgument, match="client_tls"):
        DefaultMQProducer(LiveRuntime("mine", None), "shops", tls=client_tls(certificates))


def run(live: LiveServer, *arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [*map(str, arguments), "--name-server", ";".join(live.name_servers)])


def test_the_commands_take_certificates_and_keys(
    guarded: LiveServer, certificates: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = ("--tls-cert", certificates.client_certificate, "--tls-key", certificates.client_key)
    tls = ("--tls-ca", certificates.ca, *own)
    refused = run(guarded, "send", "letters", "hello", *tls)
    assert refused.exit_code == 1 and "No accessKey is configured" in refused.output
    keys = ("--access-key", "shop-key", "--secret-key", "shop-secret")
    assert "SEND_OK" in run(guarded, "send", "letters", "hello", *tls, *keys).output
    monkeypatch.setenv("GLASSMQ_ACCESS_KEY", "shop-key")
    monkeypatch.setenv("GLASSMQ_SECRET_KEY", "shop-secret")
    assert "letters" in run(guarded, "topics", "--tls-insecure", *own).output
    consumed = run(guarded, "consume", "letters", "--group", "readers", "--from", "first", "--count", "1", *tls)
    assert "hello" in consumed.output, consumed.output


def test_a_consumer_that_is_refused_says_so_and_does_not_wait_in_silence(
    guarded: LiveServer, certificates: Certificates
) -> None:
    command = [sys.executable, "-m", "app.command_line", "consume", "letters", "--group", "secret"]
    own = ["--tls-cert", str(certificates.client_certificate), "--tls-key", str(certificates.client_key)]
    access = ["--tls-ca", str(certificates.ca), *own]
    keys = ["--access-key", "shop-key", "--secret-key", "shop-secret", "--name-server", ";".join(guarded.name_servers)]
    assert "SEND_OK" in run(guarded, "send", "letters", "hello", *access, *keys[:4]).output
    with subprocess.Popen([*command, *access, *keys], stderr=subprocess.PIPE, text=True, bufsize=1) as consumer:
        watchdog = threading.Timer(60, consumer.kill)
        watchdog.start()
        try:
            assert consumer.stderr is not None
            assert any("AclException" in line for line in consumer.stderr), "it ended without a word"
        finally:
            watchdog.cancel()
            consumer.kill()


def test_the_commands_say_what_is_missing(guarded: LiveServer, certificates: Certificates) -> None:
    plain = run(guarded, "topics")
    assert plain.exit_code == 1 and "If it speaks TLS only, add --tls" in plain.output
    unbelieving = run(guarded, "topics", "--tls")
    assert unbelieving.exit_code == 1 and "--tls-ca names the trusted issuers" in unbelieving.output
    half = run(guarded, "topics", "--access-key", "shop-key", "--tls-insecure")
    assert half.exit_code == 1 and "go together" in half.output
    half = run(guarded, "topics", "--tls-cert", certificates.client_certificate)
    assert half.exit_code == 2 and "--tls-cert and --tls-key go together" in half.output
    missing = run(guarded, "topics", "--tls-ca", "nowhere.pem")
    assert missing.exit_code == 2 and "nowhere.pem is not a file" in missing.output


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--tls-cert", "CERT"], "--tls-cert and --tls-key go together"),
        (["--tls-mode", "enforcing"], "--tls-mode enforcing needs --tls-cert and --tls-key"),
        (["--tls-cert", "CERT", "--tls-key", "KEY", "--tls-client-ca", "CERT"], "needs --tls-mode enforcing"),
        (["--tls-cert", "nowhere.pem", "--tls-key", "KEY"], "nowhere.pem is not a file"),
        (["--tls-cert", "CERT", "--tls-key", "CERT"], "see --tls-cert, --tls-key"),
        (["--broker-setting", "aclEnable=true"], "there are no rules"),
    ],
)
def test_serve_refuses_what_cannot_be_and_names_it(
    certificates: Certificates, tmp_path: Path, options: list[str], words: str
) -> None:
    files = {"CERT": str(certificates.certificate), "KEY": str(certificates.key)}
    ports = [f"--{part}-port=0" for part in ("name-server", "broker", "http")]
    given = [files.get(option, option) for option in options]
    refused = CliRunner().invoke(main, ["serve", "--data", str(tmp_path / "data"), *ports, *given])
    assert refused.exit_code in (1, 2) and words in refused.output, refused.output
