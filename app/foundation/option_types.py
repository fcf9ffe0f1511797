"""Types of options and arguments: each reads its text, mostly by a field of :mod:`engine.fields`, and refuses it with
what is wrong and what is allowed. Here every refusal becomes click's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from engine.fields.assignment import read_assignment
from engine.fields.field import Field
from engine.fields.refusal import FieldRefused, shown
from engine.protocol.errors import ProtocolError
from engine.protocol.names import TOPIC_MAX_LENGTH, validate_topic
from engine.texts import Text, plain

_PORT_MAX = 65_535
_PORT = Field("port", "integer", 0, _PORT_MAX, says=plain(f"1 to {_PORT_MAX}, and 0 for any free one"), strip=True)


if TYPE_CHECKING:
    _ParamType = click.ParamType[Any]
else:
    _ParamType = click.ParamType  # generic from click 8.4 on


class Read(_ParamType):
    """A value that ``read`` returns for the text. A value that is not a text, as from a file, has already been read.

    :param name: how the help shows it.
    :param errors: further errors of ``read`` that say what is wrong and what is allowed.
    """

    def __init__(self, name: str, read: Callable[[str], object], *errors: type[Exception]) -> None:
        self.name = name
        self._read = read
        self._errors = errors

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the value. Raises ``click.BadParameter`` by ``fail``."""
        try:
            return self._read(value) if isinstance(value, str) else value
        except FieldRefused as refusal:
            self.fail(refusal.detail["en"], param, ctx)
        except self._errors as error:
            self.fail(str(error), param, ctx)


def not_allowed(text: str, allowed: str) -> FieldRefused:
    """Return the refusal of ``text``, to be raised by what :class:`Read` calls."""
    return FieldRefused("", Text("field.bad", value=shown(text)), allowed)


def no_such(kind: str, name: str, allowed: Iterable[str]) -> click.UsageError:
    """Return the refusal of a name that a group of commands does not know, to be raised."""
    import difflib

    names = list(allowed)
    likely = difflib.get_close_matches(name, names, 1)
    hint = f"; did you mean {likely[0]}?" if likely else ";"
    return click.UsageError(f"there is no {kind} {name!r}{hint} allowed: {', '.join(names)}")


def text_field(name: str, is_allowed: Callable[[str], object], allowed: str, **settings: Any) -> Field:
    """Return a field of texts for which ``is_allowed`` is true."""

    def check(text: str) -> None:
        if not is_allowed(text):
            raise ValueError

    return Field(name, "text", check=check, says=plain(allowed), **settings)


def by_field(field: Field) -> Read:
    """Return the type of a text that the field reads, named as the field."""
    return Read(field.name, lambda text: field.read(text, field.name, of_text=True))


def assignment(shape: str = "NAME=VALUE", example: str = "", *fields: Field) -> Read:
    """Return the type of a text that :func:`read_assignment` reads."""
    return Read(shape, lambda text: read_assignment(text, shape, example, *fields))


@contextmanager
def usage_errors(*errors: type[Exception], option: str | None = None) -> Iterator[None]:
    """Raise refusals and ``errors`` as usage errors, of ``option`` if it is named. It may decorate a command."""
    caught: tuple[type[Exception], ...] = (FieldRefused, *errors)
    try:
        yield
    except caught as error:
        text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        if option is None:
            raise click.UsageError(text) from None
        raise click.BadParameter(text, param_hint=option) from None


def _is_address(text: str) -> bool:
    host, _, number = text.rpartition(":")
    return bool(host) and number.isascii() and number.isdigit() and 0 < int(number[:6]) <= _PORT_MAX


def _is_name(text: str) -> bool:
    try:
        validate_topic(text)
    except ProtocolError:
        return False
    return True


#: A TCP port; 0 means any free one.
port = by_field(_PORT)
_ADDRESS = text_field("address", _is_address, "HOST:PORT, such as 127.0.0.1:9876", strip=True)
address = by_field(_ADDRESS)
#: Several addresses, separated by ``;``.
addresses = Read(
    "addresses", lambda text: tuple(_ADDRESS.read(part, "address") for part in text.split(";") if part.strip())
)
#: The name of a broker or cluster. RocketMQ creates a topic of the same name, so it must be allowed as one.
name = by_field(text_field("name", _is_name, f"letters, digits and % | - _, at most {TOPIC_MAX_LENGTH} of them"))


def _read_folder(text: str) -> Path:
    path = Path(text).absolute()
    if not text.strip() or (path.exists() and not path.is_dir()):
        raise FieldRefused(
            "folder", f"{path} is a file" if text.strip() else "the name is empty", "a folder, such as ./data"
        )
    return path


def _read_pem_file(text: str) -> Path:
    path = Path(text).absolute()
    if not path.is_file():
        raise FieldRefused("pem_file", f"{path} is not a file", "a PEM file")
    return path


def _read_output(text: str) -> Path:
    path = Path(text)
    if path.is_dir() or not path.parent.is_dir():
        problem = "it is a folder" if path.is_dir() else f"there is no folder {path.parent}"
        raise FieldRefused("file", f"{path} cannot be written: {problem}", "a file in an existing folder")
    return path


#: The absolute path of a folder that need not exist yet.
folder = Read("folder", _read_folder)
#: The absolute path of a file with certificates or a key.
pem_file = Read("pem_file", _read_pem_file)
#: A file that can be written, as far as its folder shows.
output_file = Read("file", _read_output)
