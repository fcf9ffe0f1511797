"""``glassmq serve --ephemeral``: its options, and the broker of the test kit that it runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from app.foundation.option_types import usage_errors
from engine.live.live_machines import StartFailed

if TYPE_CHECKING:
    from app.testkit.ephemeral_broker import EphemeralBroker


def ephemeral_broker(
    host: str, ready_file: Path | None, broker_settings: Sequence[str], store_settings: Sequence[str]
) -> EphemeralBroker:
    """Return the broker, to be started. Raises click.UsageError for bad settings."""
    from app.testkit.ephemeral_broker import EphemeralBroker

    with usage_errors(StartFailed):
        return EphemeralBroker(host, ready_file, broker_settings, store_settings)


def log_level_of_ephemeral(log_level: str) -> str:
    """Return the level that was asked for, else ``error``: faults and resets of tests are not worth a warning."""
    is_default = click.get_current_context().get_parameter_source("log_level") is ParameterSource.DEFAULT
    return "error" if is_default else log_level
