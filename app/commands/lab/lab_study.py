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


class _Studies(click.Group):
    """A group whose options may also be written before the name of the study."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse as click does, with the first word that names a study put in front."""
        name = next((word for word in args if word in self.commands), None)
        if name is not None:
            args.remove(name)
            args.insert(0, name)
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve as click does, but name the studies when one is unknown."""
        if args[0] not in self.commands:
            raise click.UsageError(f"there is no study {args[0]!r}; there are {', '.join(self.commands)}")
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order in which they were added."""
        return [*self.commands]


@click.group("study", cls=_Studies)
def study() -> None:
    """Print tables computed by runs of the lab or of parts of the engine: what a decision saves and costs.

    Times are virtual, the same on every machine.

    \b
    Examples:
      glassmq lab study inconsistency-window
      glassmq lab study broker-memory --write docs/semantics/idempotence.md
    """


for _study in (
    acknowledgement,
    replication_compare,
    duplicates,
    crash_points,
    compare,
    more_queues,
    asynchronous_steps,
    inconsistency_window,
    broker_memory,
):
    study.add_command(_study)


def old_name(name: str) -> click.Command:
    """Return a study as the command that it was before: ``glassmq lab NAME``, which help and documents leave out."""
    command = copy.copy(study.commands[name])
    command.hidden = True
    if name == "duplicates":  # whose --json printed
        command.params = [PRINT_JSON if option.name == "json_path" else option for option in command.params]
    return command
