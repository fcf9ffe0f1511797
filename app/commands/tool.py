"""Shared by commands: the name-server option, loading a scenario by name, running a coroutine, one-line errors."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import click

from app.foundation.option_types import Read, usage_errors
from app.foundation.terminal_text import table_lines
from app.remote.cluster_access import access_options
from engine.client.foundation.client_config import parse_name_server_addresses
from engine.client.foundation.errors import MQBrokerError, MQClientError, NameServerUnreachable
from engine.fields.json_input import parse_json
from engine.fields.refusal import FieldRefused
from engine.protocol.errors import ProtocolError
from engine.protocol.response_code import ResponseCode
from engine.runtime.port import RuntimeFault

if TYPE_CHECKING:
    from app.remote.cluster_reader import ClusterReader
    from engine.lab.scenario.scenario import Scenario

#: What a server does to a client that does not speak its protocol.
_HUNG_UP = ("reset by peer", "closed by the other end")

_F = TypeVar("_F", bound=Callable[..., Any])
_Arguments = ParamSpec("_Arguments")


limit_option = click.option(
    "--limit",
    type=click.IntRange(1, 1_000),
    default=50,
    show_default=True,
    help="Number of messages per broker, the newest.",
)


def name_server_option(function: _F) -> _F:
    """Add ``--name-server host:port[;host:port]``, which the command receives as a tuple of addresses, and the options
    of :mod:`app.remote.cluster_access`, which it does not see.
    """
    return click.option(
        "--name-server",
        "name_servers",
        default="127.0.0.1:9876",
        show_default=True,
        envvar="NAMESRV_ADDR",
        type=Read("TEXT", parse_name_server_addresses, MQClientError),
        help="host:port of the name server, several joined by ';'. Also from NAMESRV_ADDR.",
    )(access_options(function))


def run_tool(coroutine: Coroutine[Any, Any, None]) -> None:
    """Run ``coroutine``; an error of the cluster or no answer becomes one line and exit code 1."""
    logging.getLogger("glassmq").addHandler(logging.NullHandler())
    try:
        asyncio.run(coroutine)
    except (MQClientError, ProtocolError, RuntimeFault) as error:
        raise click.ClickException(f"{error}{_hint(error)}") from None
    except KeyboardInterrupt:
        raise SystemExit(130) from None


def ask_cluster(
    name_servers: Sequence[str],
    ask: Callable[Concatenate[ClusterReader, _Arguments], Coroutine[Any, Any, None]],
    *arguments: _Arguments.args,
    **options: _Arguments.kwargs,
) -> None:
    """Run ``ask`` with a reader of the cluster and ``arguments``, as :func:`run_tool` does."""

    async def ask_and_close() -> None:
        from app.remote.cluster_reader import open_cluster_reader

        async with open_cluster_reader(name_servers) as reader:
            await ask(reader, *arguments, **options)

    run_tool(ask_and_close())


def cluster_command(
    ask: Callable[Concatenate[ClusterReader, ...], Coroutine[Any, Any, None]],
) -> Callable[..., None]:
    """Make a coroutine a command: it gets a reader of the cluster that :func:`name_server_option` names, and its own
    arguments.
    """

    @name_server_option
    @wraps(ask)
    def command(*, name_servers: tuple[str, ...], **arguments: Any) -> None:
        ask_cluster(name_servers, ask, **arguments)

    return command


def _hint(error: Exception) -> str:
    """Return the most likely cause, for errors that do not say it themselves."""
    if "certificate verify failed" in str(error):
        return ". --tls-ca names the trusted issuers"
    if "does it speak TLS" in str(error):
        return " Without --tls connections are not encrypted"
    if isinstance(error, NameServerUnreachable) and any(words in str(error) for words in _HUNG_UP):
        return ". If it speaks TLS only, add --tls"
    if isinstance(error, NameServerUnreachable):
        return ". Is `glassmq serve` running there?"
    if isinstance(error, MQBrokerError) and error.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED:
        return ". Is that a broker's port? --name-server needs the name server's, which is 9876 by default"
    return ""


def print_table(head: tuple[str, ...], rows: list[tuple[object, ...]]) -> None:
    """Print rows under a head, in columns; numbers are aligned to the right."""
    for line in table_lines(head, rows):
        click.echo(line)


def json_or_text(text: str) -> object:
    """Return what ``text`` is as JSON, if that is a number, true, false, a list or a text in quotes; else the text."""
    try:
        value = parse_json(text)
    except FieldRefused:
        return text
    return value if isinstance(value, bool | int | float | list | str) else text


def load_scenario_argument(name: str) -> Scenario:
    """Return the scenario of a file or of a name."""
    from engine.lab.scenario.errors import LabError
    from engine.lab.scenario.scenario_files import load_scenario, read_scenario_file

    path = Path(name)
    with usage_errors(LabError, OSError, option=name):
        return read_scenario_file(path) if path.suffix in (".yaml", ".yml") or path.exists() else load_scenario(name)
