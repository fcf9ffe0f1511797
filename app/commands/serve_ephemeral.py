"""``glassmq serve --ephemeral``: its options, and the broker of the test kit that it runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from engine.live.live_machines import StartFailed

if TYPE_CHECKING:
    from app.testkit.ephemeral_broker import EphemeralBroker

#: The options that go with --ephemeral; --interpreted does, too, and was read before.
_ALLOWED = ("host", "broker_setting", "store_setting", "log_level", "ready_file", "exit_with_parent")


def ephemeral_broker(
    host: str, ready_file: Path | None, broker_settings: Sequence[str], store_settings: Sequence[str]
) -> EphemeralBroker:
    """Return the broker, to be started. Raises click.UsageError for bad settings, and options that mean nothing."""
    from app.testkit.ephemeral_broker import EphemeralBroker

    context = click.get_current_context()
    given = [name for name in context.params if context.get_parameter_source(name) is ParameterSource.COMMANDLINE]
    other = [_option(name) for name in given if name not in (*_ALLOWED, "ephemeral")]
    if other:
        allowed = ", ".join(map(_option, _ALLOWED))
        raise click.UsageError(f"--ephemeral excludes {', '.join(other)}; allowed with it: {allowed}")
    try:
        return EphemeralBroker(host, ready_file, broker_settings, store_settings)
    except StartFailed as error:
        raise click.UsageError(str(error)) from None


def log_level_of_ephemeral(log_level: str) -> str:
    """Return the level that was asked for, else ``error``: faults and resets of tests are not worth a warning."""
    is_default = click.get_current_context().get_parameter_source("log_level") is ParameterSource.DEFAULT
    return "error" if is_default else log_level


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"
