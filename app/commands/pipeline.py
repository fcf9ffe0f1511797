"""``glassmq pipeline``: runs jobs of the data pipeline on Spark.

The commands and their options come from the descriptions of the jobs, which need no Spark, so help is fast.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from app.commands.tool import name_server_option
from app.foundation.option_types import assignment, no_such, text_field
from app.remote.cluster_access import cluster_access
from engine.pipeline.jobs.description import JobDescription, JobParameter, ParameterKind
from engine.pipeline.jobs.registry import JOB_NAMES, describe
from engine.pipeline.jobs.report import ALL_ROWS

#: The nice(1) value of jobs that the page starts: they give way to all other processes.
_NICENESS_MAX = 19
_SPARK_NAME = re.compile(r"spark\.[\w.-]+")
_CONF = assignment("KEY=VALUE", "spark.NAME=value", text_field("key", _SPARK_NAME.fullmatch, "spark.NAME"))
_LIST_HINT = "`glassmq pipeline NAME --help` lists the options of a job."


class JobCommands(click.Group):
    """One command for each job, and ``list``."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return ``list``, then the jobs in their order."""
        return ["list", *JOB_NAMES]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command that runs the job of that name."""
        if cmd_name == "list":
            return list_jobs
        return make_command(describe(cmd_name)) if cmd_name in JOB_NAMES else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve a command as click does, but name the known jobs when it is unknown."""
        if args and not args[0].startswith("-") and args[0] not in ("list", *JOB_NAMES):
            raise no_such("job", args[0], JOB_NAMES)
        return super().resolve_command(ctx, args)


@click.group("pipeline", cls=JobCommands, context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Run a job on Spark over a cluster's messages: this machine's (local[2]) or a Spark cluster's.

    Needs PySpark (pip install 'glassmq[spark]') and Java 17 or newer.

    \b
    Examples:
      glassmq pipeline list
      glassmq pipeline traffic --topics orders
      glassmq pipeline delivery-audit --topic orders --follow --master 'local[4]'
      glassmq pipeline traffic --topics orders --json > events.jsonl
    """


@click.command("list")
def list_jobs() -> None:
    """List the jobs with what each answers."""
    for name in JOB_NAMES:
        description = describe(name)
        click.echo(f"{name}: {description.title['en']}")
        click.echo(click.wrap_text(description.about["en"], 100, "    ", "    "))
    click.echo(_LIST_HINT)


def make_command(description: JobDescription) -> click.Command:
    """Return the command that runs the job."""

    @click.option(
        "--master", default="local[2]", show_default=True, help="Where Spark runs: local[N], spark://..., yarn."
    )
    @click.option("--json", "as_json", is_flag=True, help="Print the job's reports as lines of JSON.")
    @click.option(
        "--max-rows",
        type=click.IntRange(1, ALL_ROWS),
        default=ALL_ROWS,
        help="Most rows of a table with --json.  [default: all]",
    )
    @click.option("--conf", multiple=True, type=_CONF, help="A setting of Spark.")
    @click.option("--log-file", type=click.Path(dir_okay=False, path_type=Path), help="File for Spark's log output.")
    @click.option("--work-folder", type=click.Path(file_okay=False, path_type=Path), hidden=True)
    @click.option("--niceness", type=click.IntRange(0, _NICENESS_MAX), default=0, hidden=True)
    @click.option("--ends-with-stdin", is_flag=True, hidden=True)
    @click.option("--tls-any-host", is_flag=True, hidden=True)
    @name_server_option
    def run(
        master: str,
        as_json: bool,
        max_rows: int,
        conf: tuple[tuple[str, str], ...],
        log_file: Path | None,
        work_folder: Path | None,
        niceness: int,
        ends_with_stdin: bool,
        tls_any_host: bool,
        name_servers: tuple[str, ...],
        **arguments: str | None,
    ) -> None:
        from app.pipeline.cluster_options import cluster_options
        from app.pipeline.job_process import JobProcess

        given = {name: value for name, value in arguments.items() if value is not None}
        _check(description, given)
        cluster = cluster_options(name_servers, cluster_access())
        if tls_any_host:
            cluster["tlsCheckHost"] = "false"
        _forget_keys()
        process = JobProcess(description, given, log_file, json_rows=max_rows if as_json else None)
        process.give_way(niceness)
        process.listen_to_signals(ends_with_stdin=ends_with_stdin)
        process.run(master, cluster, dict(conf), work_folder)

    for parameter in reversed(description.parameters):
        run = _option(parameter)(run)
    run.__doc__ = description.about["en"]
    help_text = click.wrap_text(description.about["en"], 78)
    return click.command(description.name, help=help_text, short_help=description.title["en"])(run)


def _option(parameter: JobParameter) -> Callable[[Any], Any]:
    """Return the option ``--name-with-dashes`` of a parameter. :mod:`engine.pipeline.jobs.arguments` checks the values,
    all of them together.
    """
    dashed = parameter.name.replace("_", "-")
    help_text = parameter.help["en"]
    if parameter.kind is ParameterKind.SWITCH:
        default = "on" if parameter.default else "off"
        return click.option(
            f"--{dashed}/--no-{dashed}", parameter.name, default=None, help=f"{help_text}  [default: {default}]"
        )
    if parameter.choices:
        help_text += f" One of {', '.join(parameter.choices)}."
    if parameter.required:
        help_text += "  [required]"
    elif parameter.default is not None:
        unit = " ms" if parameter.kind is ParameterKind.DURATION else ""
        help_text += f"  [default: {parameter.default}{unit}]"
    return click.option(f"--{dashed}", parameter.name, metavar=parameter.kind.value.upper(), help=help_text)


def _check(description: JobDescription, given: dict[str, Any]) -> None:
    from engine.pipeline.jobs.arguments import ArgumentRefused, read_arguments

    try:
        read_arguments(description, given)
    except ArgumentRefused as refusal:
        option = f"--{refusal.parameter.replace('_', '-')}"
        raise click.BadParameter(refusal.text["en"], param_hint=option) from None


def _forget_keys() -> None:
    """Remove access keys from the environment: Spark passes it to its processes, none of which needs them."""
    for name in ("GLASSMQ_ACCESS_KEY", "GLASSMQ_SECRET_KEY"):
        os.environ.pop(name, None)
