"""``glassmq``: the command line. Each command is a file under ``app/commands``.

The module of a command is imported only when the command is used, so that each command starts as fast as it can.
"""

from __future__ import annotations

import gc
import importlib
import io
import sys
from typing import Any

import click

#: Command -> what ``glassmq --help`` says about it, and an example.
COMMANDS: dict[str, tuple[str, str]] = {
    "serve": ("Run a name server, a broker and the live page.", "glassmq serve --data ./data --flush sync"),
    "check": ("Check whether a stopped broker's folder is intact.", "glassmq check --data ./data"),
    "send": ("Send messages to a topic.", "glassmq send orders 'hello' --tag new --key order-1 --count 10"),
    "consume": ("Print a topic's messages as they come.", "glassmq consume orders --group audit --count 10"),
    "topics": ("List topics with their queues.", "glassmq topics"),
    "verdict": ("Report the health of a running broker.", "glassmq verdict"),
    "faults": (
        "Inject faults into a running broker.",
        "glassmq faults add drop END_TRANSACTION --group bank --times 1",
    ),
    "groups": ("List consumer groups with their lag.", "glassmq groups"),
    "message": ("Show one message by its id.", "glassmq message 7F00000100002A9F0000000000000000"),
    "request": ("Send a request and print the reply.", "glassmq request questions 'what time is it?'"),
    "reply": ("Answer the requests in a topic.", "glassmq reply questions --group answerers"),
    "trace": ("Show what clients recorded about a message.", "glassmq trace AC110002000B5FFD2B2768FEE9350000"),
    "loss": ("Merge consumers' reports of missing messages.", "glassmq loss one.json two.json"),
    "transactions": ("List half messages and decide them by hand.", "glassmq transactions commit order-17"),
    "dead-letters": (
        "List dead letters and send them again.",
        "glassmq dead-letters resend billing order-17 --to group",
    ),
    "bank": ("Move money between two SQLite files.", "glassmq bank --folder bank --transfers 5"),
    "idempotence": (
        "Inspect the records of idempotent consumers.",
        "glassmq idempotence list sqlite:orders.db --group shop",
    ),
    "explore": (
        "Search for a schedule that breaks an invariant.",
        "glassmq explore two-consumers --without process-queue-lock",
    ),
    "storage": ("Measure the cost of storage on this machine.", "glassmq storage measure --size-mb 64"),
    "site": ("Write lessons and lab as a site that needs no server.", "glassmq site --out build/site"),
    "pipeline": ("Run a job on Spark over stored messages.", "glassmq pipeline traffic --topics orders"),
    "lab": ("Run scenarios in virtual time, with faults.", "glassmq lab run general --seeds 1000 --faults random"),
}


#: Folder of ``app/commands`` -> the commands in it. The other commands are files next to these folders.
_ROOMS = {
    "messages": ("send", "consume", "message", "request", "reply", "trace", "loss", "bank"),
    "administration": ("check", "topics", "groups", "transactions", "dead-letters", "verdict", "faults"),
    "idempotence": ("idempotence",),
    "storage": ("storage",),
    "lab": ("explore", "lab"),
}


#: Errors that say in one line what went wrong, and end a command with exit code 1.
_NAMES_OF_EXPECTED = """
    app.foundation.operator_requests.OperationRefused app.pictures.chromium.NoBrowser
    app.pictures.page_server.ServerFailed app.pictures.stage_camera.NoPicture app.site.python_files.SiteProblem
    engine.bank.errors.BankError engine.idempotence.foundation.errors.IdempotenceError
    engine.lab.run.key_moment.NoKeyMoment engine.lab.scenario.errors.LabError engine.live.live_machines.StartFailed
    engine.pipeline.errors.PipelineError engine.runtime.port.DiskFault engine.runtime.port.FolderLocked
"""
EXPECTED = frozenset(_NAMES_OF_EXPECTED.split())


class LazyGroup(click.Group):
    """A group that knows the names of its commands and imports each one when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of :data:`COMMANDS`."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command ``cmd_name`` from the module of that name in ``app.commands``, with - replaced by _."""
        if cmd_name not in COMMANDS:
            return None
        room = next((f"{room}." for room, commands in _ROOMS.items() if cmd_name in commands), "")
        module = importlib.import_module(f"app.commands.{room}{cmd_name.replace('-', '_')}")
        command: click.Command = module.command
        return command

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run as click does; where the output cannot be written (a full disk), say so in one line."""
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):  # a terminal without Chinese shows \\u6d88, not a traceback
                stream.reconfigure(errors="backslashreplace")
        try:
            return super().main(*args, **extra)
        except OSError as error:
            click.echo(f"Error: {error.strerror or error}", err=True)
            sys.exit(1)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse as click does, but refuse bytes that are not text: no request, name or output could carry them."""
        for text in args:
            if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
                from app.foundation.terminal_text import clean

                raise click.UsageError(f"the argument {clean(text)} is not UTF-8 text", ctx)
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve a command as click does, but name the known commands when it is unknown."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from app.foundation.option_types import no_such

            raise no_such("command", args[0], COMMANDS)
        if args and args[0] == "serve":  # before the modules that serve are imported
            from engine.compiled.form import choose_form

            choose_form(wants_compiled="--interpreted" not in args)
            # What is imported and created until the server runs stays forever; app/commands/serve.py turns the
            # collector on again.
            gc.disable()
            ctx.call_on_close(gc.enable)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """Run a command; name the extra where one of its packages is missing, and a file that cannot be used."""
        try:
            return super().invoke(ctx)
        except ModuleNotFoundError as error:
            from app.server import PAGE_PACKAGES

            if error.name not in PAGE_PACKAGES:
                raise
            needed = f"{ctx.invoked_subcommand} needs the Python package {error.name}: pip install 'glassmq[page]'"
            raise click.ClickException(needed) from error
        except OSError as error:
            if error.filename is None:
                raise
            from app.foundation.terminal_text import clean

            raise click.ClickException(f"{clean(error.filename)}: {error.strerror}") from error
        except Exception as error:
            if EXPECTED.isdisjoint(f"{kind.__module__}.{kind.__qualname__}" for kind in type(error).__mro__):
                raise
            raise click.ClickException(str(error)) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List commands and examples without importing any command."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (text, _) in COMMANDS.items()])
        with formatter.section("Examples"):
            for _, example in COMMANDS.values():
                formatter.write_text(example)


def _print_version(ctx: click.Context, _parameter: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from app.foundation.version import version

        click.echo(f"glassmq {version()}")
        ctx.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Print the version and exit.",
)
def main() -> None:
    """A message broker for RocketMQ clients that you can see inside."""


if __name__ == "__main__":
    main(prog_name="glassmq")
