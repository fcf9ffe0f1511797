"""Options that several commands of the lab have."""

from __future__ import annotations

import click

from app.foundation.option_types import assignment

PROCESSES_MAX = 64

changed_option = click.option(
    "--set",
    "changed",
    type=assignment("NODE.NAME=VALUE", "C1.pull_interval_ms=100"),
    multiple=True,
    help="Change a setting from the beginning; NODE may be producers, consumers or raft_peers. May be repeated.",
)
processes_option = click.option(
    "--processes",
    type=click.IntRange(1, PROCESSES_MAX),
    help="Number of processes that share the work.  [default: one per core]",
)
link_address_option = click.option(
    "--address",
    default="http://127.0.0.1:8000",
    show_default=True,
    help="Base address of the printed links: your glassmq serve.",
)
