"""``glassmq lab study``: tables computed by runs, one command for each."""

from __future__ import annotations

import copy

import click

from app.commands.lab.studies.acknowledgement import acknowledgement
from app.commands.lab.studies.compare import compare
from app.commands.lab.studies.crash_points import crash_points
from app.commands.lab.studies.decisions import asynchronous_steps, broker_memory, inconsistency_window, more_queues
from app.commands.lab.studies.duplicates import duplicates
from app.commands.lab.studies.replication_compare import replication_compare
from app.commands.lab.studies.study import PRINT_JSON
from app.foundation.option_types import no_such

#: Studies that were commands of their own: ``glassmq lab NAME``.
_OLD = acknowledgement, compare, crash_points, duplicates, replication_compare
_DECISIONS = more_queues, asynchronous_steps, inconsistency_window, broker_memory


class _Studies(click.Group):
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse as click does, with the name of the study anywhere among the words."""
        name = next((word for word in args if word in self.commands), None)
        if name is not None:
            args.remove(name)
            args.insert(0, name)
        elif args and not args[0].startswith("-"):
            raise no_such("study", args[0], self.commands)
        return super().parse_args(ctx, args)


@click.group("study", cls=_Studies, commands=[*_OLD, *_DECISIONS])
def study() -> None:
    """Print tables computed by runs of the lab or of parts of the engine: what a decision saves and costs.

    Times are virtual, the same on every machine.

    \b
    Examples:
      glassmq lab study inconsistency-window
      glassmq lab study broker-memory --write docs/semantics/idempotence.md
    """


def old_names() -> list[click.Command]:
    """Return the studies that were commands of their own as those, which help and documents leave out."""
    commands: list[click.Command] = [copy.copy(each) for each in _OLD]
    for each in commands:
        each.hidden = True
        if each.name == duplicates.name:
            each.params = [PRINT_JSON if option.name == PRINT_JSON.name else option for option in each.params]
    return commands
