"""What the small tools share: the name-server option, running a coroutine, errors as one line."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterator
from datetime import UTC, datetime
from typing import Any, TypeVar

import click

from app.remote.cluster_access import access_options
from engine.client.foundation.client_config import parse_name_server_addresses
from engine.client.foundation.errors import MQBrokerError, MQClientError, NameServerUnreachable
from engine.protocol.errors import ProtocolError
from engine.protocol.response_code import ResponseCode
from engine.runtime.port import RuntimeFault

#: What a server does to whoever does not speak its language.
_HUNG_UP = ("reset by peer", "closed by the other end")

_F = TypeVar("_F", bound=Callable[..., Any])


def name_server_option(function: _F) -> _F:
    """``--name-server host:port[;host:port]``, given to the command as a tuple of addresses; and the options of
    :mod:`app.remote.cluster_access`, of which the command need not know.
    """
    return click.option(
        "--name-server",
        "name_servers",
        default="127.0.0.1:9876",
        show_default=True,
        envvar="NAMESRV_ADDR",
        callback=_parse_name_servers,
        help="host:port of the name server, several joined by ';'. Also from NAMESRV_ADDR.",
    )(access_options(function))


def _parse_name_servers(_ctx: click.Context, _parameter: click.Parameter, text: str) -> tuple[str, ...]:
    try:
        return parse_name_server_addresses(text)
    except MQClientError as error:
        raise click.BadParameter(str(error)) from None


def run_tool(coroutine: Coroutine[Any, Any, None]) -> None:
    """Run ``coroutine``; what the cluster refuses or does not answer becomes one line and exit code 1."""
    logging.getLogger("glassmq").addHandler(logging.NullHandler())
    try:
        asyncio.run(coroutine)
    except (MQClientError, ProtocolError, RuntimeFault) as error:
        raise click.ClickException(f"{error}{_hint(error)}") from None
    except KeyboardInterrupt:
        raise SystemExit(130) from None


def _hint(error: Exception) -> str:
    """What is most likely wrong, where the error alone leaves a newcomer in the dark."""
    if "certificate verify failed" in str(error):
        return ". --tls-ca says whose certificates are believed"
    if isinstance(error, NameServerUnreachable) and any(words in str(error) for words in _HUNG_UP):
        return ". If it speaks TLS only, add --tls"
    if isinstance(error, NameServerUnreachable):
        return ". Is `glassmq serve` running there?"
    if isinstance(error, MQBrokerError) and error.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED:
        return ". Is that a broker's port? --name-server wants the name server's, which is 9876 by default"
    return ""


def body_text(body: bytes) -> str:
    """``body`` as text, or as ``0x`` and hex digits when it is no UTF-8 or holds characters that no text has.

    A terminal would take some of those as commands.
    """
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return f"0x{body.hex()}"
    is_text = all(character.isprintable() or character.isspace() for character in text)
    return text if is_text else f"0x{body.hex()}"


def local_time(timestamp_ms: int, *, with_zone: bool = False) -> str:
    """Date and time here; the figure where it is no time."""
    try:
        local = datetime.fromtimestamp(timestamp_ms // 1000, UTC).astimezone()
    except (OverflowError, ValueError, OSError):  # a client may have written anything
        return f"{timestamp_ms} ms"
    zone = f" {local:%z}" if with_zone else ""
    return f"{local:%Y-%m-%d %H:%M:%S}.{timestamp_ms % 1000:03d}{zone}"


def print_table(head: tuple[str, ...], rows: list[tuple[object, ...]]) -> None:
    """Print rows under a head, in columns; numbers to the right."""
    for line in table_lines(head, rows):
        click.echo(line)


def table_lines(head: tuple[str, ...], rows: list[tuple[object, ...]]) -> Iterator[str]:
    """The lines of such a table."""
    texts = [head, *(tuple(str(cell) for cell in row) for row in rows)]
    widths = [max(len(row[column]) for row in texts) for column in range(len(head))]
    is_number = [bool(rows) and all(isinstance(row[column], int) for row in rows) for column in range(len(head))]
    for row in texts:
        cells = (
            cell.rjust(width) if number else cell.ljust(width)
            for cell, width, number in zip(row, widths, is_number, strict=True)
        )
        yield "  ".join(cells).rstrip()
