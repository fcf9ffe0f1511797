"""``glassmq verdict``: how a running broker is, in words; for people, for cron and for a pipeline's last step."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any
from urllib.parse import urlsplit

import click

from engine.texts import LANGUAGES

_TIMEOUT_S = 10.0


@click.command("verdict")
@click.option(
    "--page",
    default="http://127.0.0.1:8000",
    show_default=True,
    envvar="GLASSMQ_PAGE",
    help="Address of the broker's page. Also from GLASSMQ_PAGE.",
)
@click.option("--token", envvar="GLASSMQ_TOKEN", help="What serve has as --token. Also from GLASSMQ_TOKEN.")
@click.option("--lang", type=click.Choice(LANGUAGES), default=LANGUAGES[0], show_default=True, help="Language.")
def command(page: str, token: str | None, lang: str) -> None:
    """Say what is not well at a running broker: who falls behind, which queue nobody pulls, what is undecided.

    It is the first line of the live page, where the rules' thresholds are set. The exit code is 0 when all is well, 1
    when something is not, and 2 when the broker cannot be asked.

    \b
    Examples:
      glassmq verdict
      glassmq verdict --page http://broker-7:8000 --token secret
    """
    found = _ask(page, token)
    clauses = found["clauses"]
    for line in [clause["text"][lang] for clause in clauses] or [found["text"][lang]]:
        click.echo(line)
    if clauses:
        raise click.exceptions.Exit(1)


def _ask(page: str, token: str | None) -> dict[str, Any]:
    """See ``app/watch/verdict.py``."""
    if urlsplit(page).scheme not in ("http", "https"):
        raise click.UsageError(f"{page!r} is no address of a page, such as http://127.0.0.1:8000")
    request = urllib.request.Request(f"{page.rstrip('/')}/api/live/verdict")
    if token is not None:
        request.add_header("Authorization", f"Bearer {token}")
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:
            found: dict[str, Any] = json.load(answer)
            assert isinstance(found["clauses"], list) and isinstance(found["text"], dict)
            return found
    except urllib.error.HTTPError as error:
        with error:
            problem = {401: "it wants a token: --token"}.get(error.code, f"it answers {error.code} {error.reason}")
    except (OSError, ValueError) as error:
        problem = f"{getattr(error, 'reason', error)}. Is `glassmq serve` running there?"
    except (KeyError, TypeError, AssertionError):
        problem = "that is no page of glassmq"
    raise _NotAsked(f"{page} cannot be asked: {problem}")


class _NotAsked(click.ClickException):
    """Told from a verdict by its exit code."""

    exit_code = 2
