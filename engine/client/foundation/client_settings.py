"""The assignment of a client's keyword arguments to its settings classes, so that users need not know the classes."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar

from engine.client.foundation.client_config import ClientConfig, parse_name_server_addresses
from engine.client.foundation.errors import IllegalClientArgument
from engine.protocol.errors import IllegalName
from engine.protocol.names import validate_group
from engine.runtime.port import Runtime

_Config = TypeVar("_Config")

#: The default port of a name server.
DEFAULT_NAME_SERVER_ADDRESS = "127.0.0.1:9876"


def check_first_arguments(client: str, runtime: Runtime | None, group: str, settings: Mapping[str, Any]) -> None:
    """Raise :class:`IllegalClientArgument` for an illegal group name, a group in place of the runtime, or ``tls``
    together with a runtime, which has its own encryption.
    """
    if isinstance(runtime, str):
        raise IllegalClientArgument(
            f"the first argument of {client} is the runtime (or None for a live one), got {runtime!r}; "
            f"write {client}(group={runtime!r}, ...)"
        )
    if runtime is not None and settings.get("tls") is not None:
        raise IllegalClientArgument(
            "tls is for clients without a runtime; use LiveRuntime(..., client_tls=...) instead"
        )
    try:
        validate_group(group)
    except IllegalName as error:
        raise IllegalClientArgument(str(error)) from error


def build_configs(
    name_server_addresses: str | tuple[str, ...] | list[str], own: type[_Config], settings: dict[str, Any]
) -> tuple[ClientConfig, _Config]:
    """Return ``settings`` as a :class:`ClientConfig` and an ``own``, by the names of their fields.

    Raises :class:`IllegalClientArgument` naming an unknown setting and the likely one.
    """
    client_names = _field_names(ClientConfig)
    own_names = _field_names(own)  # type: ignore[arg-type]  # mypy doubts that a class has a hash
    for name in settings:
        if name not in client_names and name not in own_names:
            likely = difflib.get_close_matches(name, (*client_names, *own_names), n=1)
            hint = f"did you mean {likely[0]}?" if likely else f"known: {', '.join((*own_names, *client_names))}"
            raise IllegalClientArgument(f"there is no setting {name!r}; {hint}")
    client_config = ClientConfig(
        name_server_addresses=parse_name_server_addresses(name_server_addresses),
        **{name: value for name, value in settings.items() if name in client_names},
    )
    return client_config, own(**{name: value for name, value in settings.items() if name in own_names})


@cache
def _field_names(config: type) -> tuple[str, ...]:
    """Return the names of the settings. Cached, because a lab creates the same clients thousands of times."""
    return tuple(field.name for field in dataclasses.fields(config) if field.name != "name_server_addresses")
