"""``glassmq check``: checks whether the data folder of a stopped broker is whole."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from app.commands.tool import print_table

if TYPE_CHECKING:
    from engine.replication.majority.folder_check import MemberFolder
    from engine.replication.raft.hard_state import JoinReason


@click.command("check")
@click.option(
    "--data",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default="./data",
    show_default=True,
    help="The broker's data folder.",
)
@click.option("--quiet", is_flag=True, help="Show no progress.")
def command(data: Path, quiet: bool) -> None:
    """Check the folder of a stopped broker, and report what is whole and what is damaged.

    Every message of the commit log is compared with its CRC, every entry of the consume queues with the message that it
    leads to. For a member of a group it reports whether it votes, or joins and why. Nothing is changed. The exit code
    is 0 when everything is whole, 1 when something is damaged or the folder is in use.

    \b
    Examples:
      glassmq check --data ./data
    """
    from engine.replication.majority.folder_check import look_at_member
    from engine.runtime.live.live_runtime import LiveRuntime
    from engine.store.store_check import CheckProgress, StoreCheck

    with click.progressbar(length=1_000, label="Checking", file=sys.stderr, hidden=quiet) as bar:

        def show(progress: CheckProgress) -> None:
            bar.update(1_000 * progress.done // max(1, progress.total) - bar.pos)

        runtime = LiveRuntime("check", data)
        check = StoreCheck(runtime.disk, runtime.clock, show)
        try:
            lock = runtime.disk.lock_folder()
            try:
                check.run()
                member = look_at_member(runtime.disk)
            finally:
                lock.release()
        finally:
            runtime.disk.close()
    print_table(("", "whole", "damaged"), [(kind.value, one.whole, one.damaged) for kind, one in check.counts.items()])
    for kind, one in check.counts.items():
        for place in one.places:
            click.echo(f"{kind.value}: {place}")
        if one.damaged > len(one.places):
            click.echo(f"{kind.value}: and {one.damaged - len(one.places)} more")
    for line in _of_member(member) if member is not None else ():
        click.echo(line)
    if not check.is_whole or (member is not None and not member.is_whole):
        raise click.exceptions.Exit(1)
    click.echo("Everything is intact.")


def _of_member(member: MemberFolder) -> Iterator[str]:
    """Yield what the files of a group's member say about its state."""
    state = member.state
    if member.joins:
        said = f"will join when it is started, and not vote until it is admitted: {_why(member.joins)}"
    elif state is not None and state.joining:
        said = f"joins, and does not vote until it is admitted: {_why(state.reason)}"
    else:
        said = "votes"
    vote = f"; term {state.term}, voted for {state.voted_for or 'nobody'}" if state is not None else ""
    yield f"member of a group: {said}{vote}; entries in raft/log: {member.entry_count}"
    if not member.is_mark_whole:
        yield "member of a group: raft/applied is damaged; the commit log will be rebuilt from raft/log"


def _why(reason: JoinReason) -> str:
    from engine.texts import Text

    return str(Text(f"raft.joins.{reason.name.lower()}"))
