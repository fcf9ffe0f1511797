"""``glassmq serve``: name server, broker and page in one process, until Ctrl-C."""

from __future__ import annotations

import dataclasses
import gc
import logging
import queue
import re
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Protocol

import click

from app.commands.broker_file import BrokerFile, take_broker_file
from app.commands.serve_ephemeral import ephemeral_broker, log_level_of_ephemeral
from app.commands.serve_replication import group_of, tls_of, with_replication
from app.foundation.option_rules import Excludes, Needs, OnlyWith, Together, option_rules
from app.foundation.option_types import Read, address, folder, name, pem_file, port, text_field, usage_errors
from app.foundation.version import version
from app.lab.foundation.log_filter import NotFromLabWorlds
from app.observation.recent_log import RecentLog
from app.server import PageSettings, Server
from app.testkit.parent_process import watch_parent
from app.web.access_rules import is_loopback
from app.web.busy_ports import WantedPort, explain_taken_ports
from app.web.embedding_origins import origin_of
from engine.compiled.form import running_form
from engine.fields.refusal import FieldRefused
from engine.live.engine_settings import BadSetting, apply_settings
from engine.live.live_machines import LiveHostSettings
from engine.name_server.name_server_config import NameServerConfig
from engine.protocol.message.record_layout import BLANK_MIN_SIZE_BYTES
from engine.replication.ha.ha_config import HaRole
from engine.runtime.live.freed_memory import keep_freed_memory
from engine.runtime.live.live_tls import TlsMode
from engine.store.files.store_config import FlushDiskType, MessageStoreConfig
from engine.store.log.commit_log import ENVELOPE_MAX_BYTES

_TOKEN = text_field(
    "token",
    re.compile(r"[A-Za-z0-9._~-]{8,200}").fullmatch,
    "8 to 200 letters, digits and . _ ~ -",
    default=None,
    is_secret=True,
)

#: Settings that have an option of their own.
BROKER_OPTIONS = {
    "broker_name": "--broker-name",
    "cluster_name": "--cluster-name",
    "host": "--host",
    "port": "--broker-port",
    "name_server_addresses": "--name-server-port (this process runs its own name server)",
}
STORE_OPTIONS = {"flush_disk_type": "--flush"}
_WITH_EPHEMERAL = ("--host", "--broker-setting", "--store-setting", "--log-level", "--ready-file", "--exit-with-parent")

log = logging.getLogger("glassmq.host")


def _origin(text: str) -> str:
    origin = origin_of(text)
    if origin is None:
        allowed = "https:// or http://, a host, and optionally :PORT or :*"
        raise FieldRefused("origin", f"{text!r} is not an origin", allowed)
    return origin


@click.command("serve")
@click.option(
    "-c",
    "--config-file",
    "broker_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    is_eager=True,
    callback=take_broker_file,
    help="A settings file of RocketMQ's broker, such as its conf/broker.conf. Options given here win over it.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address of name server and broker.")
@click.option("--name-server-port", type=port, default=9876, show_default=True, help="0 means any free port.")
@click.option(
    "--broker-port",
    type=port,
    default=10911,
    show_default=True,
    help="0 means any free port. The port two below it is used too, for old Java clients (vipChannelEnable).",
)
@click.option("--http-host", default="127.0.0.1", show_default=True, help="Address of the page.")
@click.option("--http-port", type=port, default=8000, show_default=True, help="0 means any free port.")
@click.option("--no-page", is_flag=True, help="Run name server and broker only.")
@click.option(
    "--data",
    type=folder,
    default="./data",
    show_default=True,
    help="Folder for messages and offsets; created when missing.",
)
@click.option(
    "--flush",
    type=click.Choice(["async", "sync"]),
    default="async",
    show_default=True,
    help="sync: a message is acknowledged once it is on the disk.",
)
@click.option(
    "--broker-name", type=name, default="broker-a", show_default=True, help="The broker's name in the cluster."
)
@click.option("--cluster-name", type=name, default="DefaultCluster", show_default=True, help="The name of the cluster.")
@click.option(
    "--token",
    envvar="GLASSMQ_TOKEN",
    help="Token that the page requires; needed when --http-host is not loopback. Also from GLASSMQ_TOKEN.",
)
@click.option("--allowed-host", multiple=True, help="An additional host name under which the page may be opened.")
@click.option(
    "--allow-embedding",
    type=Read("ORIGIN", _origin),
    multiple=True,
    metavar="ORIGIN",
    help="A web site whose pages may embed a stage of the lab in a frame, such as https://wiki.example.org. With "
    "--token only pages of the same site can: browsers send the token's cookie to no other site's frame.",
)
@click.option(
    "--allow-faults/--no-faults",
    default=False,
    show_default=True,
    help="Let users of the page inject faults into the running broker: drop frames, kill it, fill its disk.",
)
@click.option(
    "--slave-of",
    type=address,
    metavar="HOST:PORT",
    help="Follow this broker: copy its log, and let consumers read here when it is gone.",
)
@click.option(
    "--also-register",
    type=address,
    multiple=True,
    metavar="HOST:PORT",
    help="An additional name server to register with, in another process; clients use it when this one is gone.",
)
@click.option(
    "--group-peers",
    metavar="NAME-HOST:PORT;...",
    help="Make this broker a member of a group that shares a name and replicates its log by majority: all members, "
    "each with the address at which the others reach it.",
)
@click.option("--group-self", metavar="NAME", help="The name of this process in --group-peers.")
@click.option("--tls-cert", type=pem_file, help="Certificate of name server and broker (PEM); enables TLS.")
@click.option("--tls-key", type=pem_file, help="The certificate's private key (PEM).")
@click.option("--tls-client-ca", type=pem_file, help="Clients must present a certificate issued by one of these (PEM).")
@click.option(
    "--tls-mode",
    type=click.Choice([mode.value for mode in TlsMode]),
    help="permissive also accepts plain connections.  [default: permissive with --tls-cert, else disabled]",
)
@click.option(
    "--interpreted",
    is_flag=True,
    expose_value=False,  # app/command_line.py has read it, before this module was imported
    help="Run the Python source although make fast has compiled it, for debugging.",
)
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="warning",
    show_default=True,
    help="Minimum level of log lines on stderr; the page shows info and above.",
)
@click.option(
    "--spark-master",
    default="local[2]",
    show_default=True,
    help="Where Spark runs when the page starts a job: local[N], spark://..., yarn.",
)
@click.option("--no-pipeline", is_flag=True, help="Do not let the page start jobs on Spark.")
@click.option(
    "--broker-setting", multiple=True, metavar="NAME=VALUE", help="A broker setting, in RocketMQ's name or ours."
)
@click.option("--store-setting", multiple=True, metavar="NAME=VALUE", help="The same for the store.")
@click.option(
    "--ephemeral",
    is_flag=True,
    help="For tests in any language: free ports, a temporary folder, no page, and the test kit's HTTP API.",
)
@click.option(
    "--ready-file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="With --ephemeral: a JSON file with all ports, written once all of them answer, and removed at the end.",
)
@click.option(
    "--exit-with-parent",
    is_flag=True,
    help="With --ephemeral: stop when the parent process ends, or closes the pipe that is the standard input.",
)
@option_rules(
    OnlyWith("--ephemeral", *_WITH_EPHEMERAL, "--interpreted"),
    Needs("--ready-file", "--ephemeral"),
    Needs("--exit-with-parent", "--ephemeral"),
    Together("--group-peers", "--group-self"),
    Excludes("--group-peers", "--slave-of"),
    Together("--tls-cert", "--tls-key"),
    Needs("--tls-mode permissive", "--tls-cert", "--tls-key"),
    Needs("--tls-mode enforcing", "--tls-cert", "--tls-key"),
    Needs("--tls-client-ca", "--tls-mode enforcing", reason="plain connections show no certificate"),
)
@usage_errors()
def command(
    broker_file: BrokerFile,
    host: str,
    name_server_port: int,
    broker_port: int,
    http_host: str,
    http_port: int,
    no_page: bool,
    data: Path,
    flush: str,
    broker_name: str,
    cluster_name: str,
    token: str | None,
    allowed_host: tuple[str, ...],
    allow_embedding: tuple[str, ...],
    allow_faults: bool,
    slave_of: str | None,
    also_register: tuple[str, ...],
    group_peers: str | None,
    group_self: str | None,
    tls_cert: Path | None,
    tls_key: Path | None,
    tls_client_ca: Path | None,
    tls_mode: str | None,
    log_level: str,
    spark_master: str,
    no_pipeline: bool,
    broker_setting: tuple[str, ...],
    store_setting: tuple[str, ...],
    ephemeral: bool,
    ready_file: Path | None,
    exit_with_parent: bool,
) -> None:
    """Run a name server, a broker and the live page until Ctrl-C.

    \b
    Examples:
      glassmq serve
      glassmq serve --data /tmp/mq --flush sync --broker-port 20911
      glassmq serve --http-host 0.0.0.0 --token "$(openssl rand -hex 16)"
      glassmq serve -c conf/broker.conf --broker-port 20911
      glassmq serve --slave-of 127.0.0.1:10911 --data slave --name-server-port 9877 --broker-port 10921 --http-port 8001
      glassmq serve --group-peers "n0-127.0.0.1:40911;n1-127.0.0.1:40912;n2-127.0.0.1:40913" --group-self n0
      glassmq serve --broker-setting autoCreateTopicEnable=false --store-setting fileReservedTime=24
      glassmq serve --ephemeral --ready-file ready.json --exit-with-parent
    """
    if ephemeral:
        _set_up_logging(log_level_of_ephemeral(log_level))
        broker_for_tests = ephemeral_broker(host, ready_file, broker_setting, store_setting)
        _serve(broker_for_tests, broker_for_tests.lines, exit_with_parent=exit_with_parent)
        return
    page = None
    if not no_page:
        _TOKEN.read(
            token, "--token / GLASSMQ_TOKEN"
        )  # one from the environment may be for something else without a page
        if token is None and not is_loopback(http_host):
            raise FieldRefused(
                f"--http-host {http_host}", "it lets other machines in", "a loopback address, or --token"
            )
        names = tuple(allowed.lower() for allowed in allowed_host)
        page = PageSettings(http_host, http_port, token, names, allow_embedding, None if no_pipeline else spark_master)
    for note in broker_file.notes:
        click.echo(note, err=True)
    broker = dataclasses.replace(
        broker_file.broker, broker_name=broker_name, cluster_name=cluster_name, host=host, port=broker_port
    )
    store = dataclasses.replace(broker_file.store, flush_disk_type=FlushDiskType(flush))
    with usage_errors(BadSetting, option="--broker-setting"):
        broker = apply_settings(broker, broker_setting, BROKER_OPTIONS)
    with usage_errors(BadSetting, option="--store-setting"):
        store = apply_settings(store, store_setting, STORE_OPTIONS)
    group = group_of(group_peers, group_self, tls_mode, tls_client_ca, has_rules=broker.acl_enable)
    if group is None:
        broker = with_replication(broker, slave_of)
    elif broker.broker_role is not HaRole.ASYNC_MASTER or broker_port == 0:
        what = "--broker-port 0" if broker_port == 0 else f"brokerRole={broker.broker_role.value}"
        raise FieldRefused("--group-peers", f"it excludes {what}", "a --broker-port above 0, and no brokerRole")
    _check_file_size(store)
    settings = LiveHostSettings(
        data_folder=data,
        name_server=NameServerConfig(host=host, port=name_server_port),
        broker=broker,
        store=store,
        tls=tls_of(tls_cert, tls_key, tls_client_ca, tls_mode),
        allow_faults=allow_faults,
        slave_of=slave_of,
        also_register=also_register,
        group=group,
    )
    _check_ports(settings, page)
    server = Server(settings, page, _set_up_logging(log_level))
    _serve(server, lambda: _address_lines(server))


def _check_file_size(store: MessageStoreConfig) -> None:
    """Refuse a file size too small for the messages that the server promises to accept; the store takes any size."""
    lowest = store.max_message_size + ENVELOPE_MAX_BYTES + BLANK_MIN_SIZE_BYTES
    if store.mapped_file_size_commit_log < lowest:
        raise FieldRefused(
            "mappedFileSizeCommitLog",
            f"{store.mapped_file_size_commit_log} is not allowed",
            f"{lowest} and more, so that a file holds a message of maxMessageSize={store.max_message_size} with its "
            "properties",
        )


def _check_ports(settings: LiveHostSettings, page: PageSettings | None) -> None:
    wanted = [
        WantedPort("--name-server-port", settings.name_server.host, settings.name_server.port),
        WantedPort("--broker-port", settings.broker.host, settings.broker.port),
    ]
    if page is not None:
        wanted.append(WantedPort("--http-port", page.host, page.port))
    explanation = explain_taken_ports(wanted)
    if explanation is not None:
        raise click.ClickException(explanation)


def _set_up_logging(level: str) -> RecentLog:
    """Log lines go to stderr from ``level`` on, and to the page from INFO on."""
    root = logging.getLogger("glassmq")
    to_stderr = logging.StreamHandler()
    to_stderr.setLevel(level.upper())
    to_stderr.setFormatter(logging.Formatter("%(asctime)s %(levelname)-7s %(name)s: %(message)s"))
    recent_log = RecentLog()
    for handler in (to_stderr, recent_log):
        handler.addFilter(NotFromLabWorlds())
    root.setLevel(min(logging.INFO, to_stderr.level))
    for logger in (root, logging.getLogger("asyncio")):  # asyncio logs callbacks that failed
        logger.propagate = False
        logger.addHandler(to_stderr)
        logger.addHandler(recent_log)
    return recent_log


class _Servable(Protocol):
    """What runs until a signal."""

    @property
    def is_running(self) -> bool: ...

    def start(self) -> None: ...

    def stop(self) -> None: ...


def _serve(server: _Servable, lines: Callable[[], list[str]], *, exit_with_parent: bool = False) -> None:
    # A signal handler may interrupt anything; of Python's queues only this one is safe there.
    stop_requests: queue.SimpleQueue[int] = queue.SimpleQueue()
    is_stopping = False

    def ask_to_stop(number: int, _frame: FrameType | None) -> None:
        nonlocal is_stopping
        if is_stopping:
            raise SystemExit(1)  # second signal: do not wait for a clean end
        is_stopping = True
        stop_requests.put(number)

    signal.signal(signal.SIGINT, ask_to_stop)
    signal.signal(signal.SIGTERM, ask_to_stop)
    if exit_with_parent:
        watch_parent(partial(stop_requests.put, signal.SIGTERM))
    server.start()
    # What was created so far stays: the collector, which app/command_line.py has stopped, need never examine it.
    gc.freeze()
    gc.enable()
    keep_freed_memory()
    click.echo("\n".join([f"GlassMQ {version()}", *lines(), "Ctrl-C stops it."]))
    try:
        _wait_for_stop(stop_requests, server)
    finally:
        click.echo("stopping ...", err=True)
        server.stop()


def _wait_for_stop(stop_requests: queue.SimpleQueue[int], server: _Servable) -> None:
    while True:
        try:
            stop_requests.get(timeout=0.5)
        except queue.Empty:
            if not server.is_running:
                raise click.ClickException("the engine ended unexpectedly; its log says why") from None
        else:
            return


def _replication_lines(server: Server, settings: LiveHostSettings) -> list[str]:
    if settings.group is not None:
        return [f"  member       {settings.group.name} of {', '.join(settings.group.addresses)}"]
    if settings.slave_of is not None:
        return [f"  slave of     {settings.slave_of}"]
    for_slaves = server.host.ha_address
    return [f"  for slaves   {for_slaves}  ({settings.broker.broker_role.value})"] if for_slaves else []


def _vip_channel_lines(server: Server, settings: LiveHostSettings) -> list[str]:
    if not settings.broker.vip_channel_enable:
        return []
    channel = server.host.vip_channel
    if channel is None:
        return ["  VIP channel  two ports below the broker's, while this member leads"]
    return [f"  VIP channel  {channel.address or f'none: {channel.problem}'}  (for Java clients 4.1 to 4.4)"]


def _form() -> str:
    """Return which form of the engine runs, and why it is not the compiled one."""
    form = running_form()
    return f"{form.name}  ({form.why})" if form.why else form.name


def _address_lines(server: Server) -> list[str]:
    settings = server.settings
    flush = settings.store.flush_disk_type.value
    tls = "" if settings.tls.mode is TlsMode.DISABLED else f", TLS {settings.tls.mode}"
    acl = ", ACL on" if settings.broker.acl_enable else ""
    lines = [
        f"  name server  {server.host.name_server_address}",
        f"  broker       {server.host.broker_address}  ({settings.broker.broker_name}, {flush} flush{tls}{acl})",
        *_vip_channel_lines(server, settings),
        *_replication_lines(server, settings),
        f"  data         {settings.data_folder}",
        f"  form         {_form()}",
    ]
    if server.page_address is not None:
        lines.append(f"  page         http://{server.page_address}/")
    return lines
