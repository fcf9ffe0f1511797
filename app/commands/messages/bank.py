"""``glassmq bank``: transfers between two banks with real SQLite files, through a live broker."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from app.commands.tool import name_server_option, run_tool

if TYPE_CHECKING:
    from app.live.live_bank import BankSettings

#: Spelled out here so that the command line starts without the engine; a test compares.
WAYS = ("transaction", "send-then-debit", "debit-then-send")
_AMOUNT_MAX = 1_000_000_000


@click.command("bank")
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("bank"),
    show_default=True,
    help="Folder of the two databases; created when missing.",
)
@click.option("--transfers", type=click.IntRange(0, 10_000), default=5, show_default=True, help="Number of transfers.")
@click.option(
    "--amount", type=click.IntRange(1, _AMOUNT_MAX), default=10_000, show_default=True, help="Amount of each transfer."
)
@click.option(
    "--opening",
    type=click.IntRange(0, _AMOUNT_MAX),
    default=100_000,
    show_default=True,
    help="A's opening balance in a new folder.",
)
@click.option("--way", type=click.Choice(WAYS), default="transaction", show_default=True, help="How A pays.")
@click.option(
    "--debit-ms",
    type=click.IntRange(0, 60_000),
    default=200,
    show_default=True,
    help="How long a debit stays open before its commit: time in which to kill the process.",
)
@click.option(
    "--wait-s",
    type=click.IntRange(0, 3_600),
    default=130,
    show_default=True,
    help="How long to wait until both banks agree. The broker asks about a lost transaction once a minute.",
)
@name_server_option
def command(
    folder: Path,
    transfers: int,
    amount: int,
    opening: int,
    way: str,
    debit_ms: int,
    wait_s: int,
    name_servers: tuple[str, ...],
) -> None:
    """Let A at ICBC send money to B at CCB by transactional message. Exit code 1 when the banks disagree in the end.

    The databases are SQLite files in the folder, icbc.db and ccb.db: open them with any SQLite program. Kill the
    command at any moment and run it again: it first completes every debit that was made. The ways without transactions
    may fail to do so. A half message without a debit moves no money: it stays undecided until the broker checks back
    while the command runs.

    \b
    Examples:
      glassmq bank
      glassmq bank --transfers 20 --debit-ms 1000      # kill -9 it in the middle, then:
      glassmq bank --transfers 0
      glassmq bank --folder naive --opening 25000 --transfers 3 --way send-then-debit
    """
    from app.live.live_bank import BankSettings
    from engine.bank.paying_bank import TransferVariant

    run_tool(
        _run(BankSettings(folder, name_servers, TransferVariant(way), opening, amount, debit_ms), transfers, wait_s)
    )


async def _run(settings: BankSettings, transfers: int, wait_s: int) -> None:
    from app.live.live_bank import LiveBanks

    folder = settings.folder
    async with LiveBanks(settings, click.echo) as banks:
        click.echo(f"databases: {folder / 'icbc.db'} and {folder / 'ccb.db'}")
        click.echo(_balances(banks.balances()))
        if in_flight := banks.difference().in_flight:
            click.echo(f"{in_flight} is still in transit from an earlier run; waiting for it")
            await banks.settle(wait_s)
        for number in range(transfers):
            await banks.transfer(number)
        await banks.settle(wait_s)
        click.echo(_balances(banks.balances()))
        (in_flight, from_nowhere), unsent = banks.difference(), banks.unsent
    if from_nowhere:
        raise click.ClickException(f"B has {from_nowhere} that A never paid: money from nowhere")
    if in_flight:
        raise click.ClickException(
            f"A has lost {in_flight} that B has not received yet; run it again with --transfers 0 and it may still come"
        )
    if unsent:
        raise click.ClickException(f"both banks agree, but {unsent} of {transfers} transfers could not be sent")
    click.echo("both banks agree")


def _balances(balances: tuple[int, int]) -> str:
    source, target = balances
    return f"A at ICBC has {source}, B at CCB has {target}: {source + target} in all"
