"""Types of parameters of ``glassmq serve``, each with an error that names what is allowed.

Each is a function that click calls with the text (or the default), and whose name the help shows.
"""

from __future__ import annotations

from pathlib import Path

import click

from engine.protocol.errors import ProtocolError
from engine.protocol.names import TOPIC_MAX_LENGTH, validate_topic

PORT_MAX = 65_535


def port(value: str | int) -> int:
    """Parse a TCP port; 0 means any free one. Raises click.BadParameter."""
    text = str(value).strip()
    if not text.isascii() or not text.isdigit() or len(text) > len(str(PORT_MAX)) or int(text) > PORT_MAX:
        raise click.BadParameter(f"{text!r} is not a port; allowed: 1 to {PORT_MAX}, and 0 for any free one")
    return int(text)


def address(value: str) -> str:
    """Parse the address of another name server or broker. Raises click.BadParameter."""
    host, _, port_text = value.rpartition(":")
    if not host or not port_text.isascii() or not port_text.isdigit() or not 0 < int(port_text) <= PORT_MAX:
        raise click.BadParameter(f"{value!r} is not HOST:PORT, such as 127.0.0.1:9876")
    return value


def addresses(text: str) -> tuple[str, ...]:
    """Parse several addresses, separated by ``;``. Raises click.BadParameter."""
    return tuple(address(part.strip()) for part in text.split(";") if part.strip())


def folder(value: str | Path) -> Path:
    """Parse a folder that need not exist yet, and return its absolute path. Raises click.BadParameter."""
    text = str(value)
    if not text.strip():
        raise click.BadParameter("the name is empty; give a folder, such as ./data")
    path = Path(text).absolute()
    if path.exists() and not path.is_dir():
        raise click.BadParameter(f"{path} is a file; give a folder")
    return path


def pem_file(value: str | Path) -> Path:
    """Parse an existing file, and return its absolute path. Raises click.BadParameter."""
    path = Path(str(value)).absolute()
    if not path.is_file():
        raise click.BadParameter(f"{path} is not a file; give a PEM file")
    return path


def name(text: str) -> str:
    """Parse the name of a broker or cluster. RocketMQ creates a topic of the same name, so it must be allowed as one.

    Raises click.BadParameter.
    """
    try:
        validate_topic(text)
    except ProtocolError:
        raise click.BadParameter(
            f"{text!r} is not allowed; allowed: letters, digits and % | - _, at most {TOPIC_MAX_LENGTH} of them"
        ) from None
    return text
