"""``glassmq explore``: searches the schedules of a scenario for one that breaks an invariant."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import re
import sys
import time
from typing import TYPE_CHECKING

import click

from app.commands.lab.changed_settings import settings_of
from app.commands.lab.lab_options import changed_option, link_address_option
from app.commands.lab.shared_work import LateSpark, shared_work
from app.foundation.option_rules import Excludes, option_rules
from app.foundation.option_types import Read, not_allowed, usage_errors

if TYPE_CHECKING:
    from engine.lab.explorer.exploration import Exploration, ExplorationState
    from engine.lab.explorer.plan import ExplorationRequest
    from engine.lab.run.spread import Spread
    from engine.lab.scenario.scenario import Scenario

#: Interval in seconds at which the progress line changes.
_PROGRESS_EVERY_S = 0.2


def _forced_unlock(text: str) -> tuple[int, str, int]:
    """Return virtual milliseconds, consumer and queue id of ``C1:0@2500``."""
    found = re.fullmatch("(.+):([0-9]{1,12})@([0-9]{1,12})", text)
    if found is None:
        raise not_allowed(text, "NODE:QUEUE@MS, for example C1:0@2500")
    return int(found[3]), found[1], int(found[2])


class TimeSpent:
    """The time that a search has taken.

    :ivar search_cpu_s: processor time of this process while it searched, without the handling of findings. :param
    is_shared: other processes search; then rates use the wall clock.
    """

    def __init__(self, *, is_shared: bool = False) -> None:
        self.unit = "/s" if is_shared else "/s of one core"
        self._is_shared = is_shared
        self._search_s = 0.0
        self._started, self._cpu_started = time.monotonic(), time.process_time()
        self._schedules = 0
        self.search_cpu_s = 0.0

    def note(self, state: ExplorationState) -> None:
        """Count a schedule that was run."""
        from engine.lab.explorer.exploration import SearchPhase

        if state.phase is SearchPhase.SEARCHING:
            self.search_cpu_s = _cpu_s() - self._cpu_started
            self._search_s = self.seconds
            more = state.search.schedules if state.search is not state.bounded else 0
            self._schedules = state.bounded.schedules + more

    @property
    def seconds(self) -> float:
        """Return the wall-clock time so far, in seconds."""
        return time.monotonic() - self._started

    @property
    def rate(self) -> float:
        """Return the schedules per second of wall-clock time, without the handling of findings."""
        return self._schedules / self._search_s if self._search_s else 0.0

    def to_dict(self) -> dict[str, float]:
        """Return the times as JSON."""
        return {"seconds": round(self.seconds, 3), "search_cpu_seconds": round(self.search_cpu_s, 3)}


def _cpu_s() -> float:
    """Return the processor time of this process and its ended children, in seconds."""
    return sum(os.times()[:4])


@click.command("explore")
@click.argument("scenario_name", metavar="FILE|NAME")
@click.option(
    "--without",
    multiple=True,
    metavar="SWITCH",
    help="Switch this off: broker-lock, message-queue-lock, process-queue-lock, consuming-flag or "
    "idempotent-consumer. May be repeated.",
)
@click.option(
    "--max-stalls",
    type=int,
    help="Maximum number of stalls in one schedule.  [default: 2; with banks and transactions: 1]",
)
@click.option(
    "--hold-ms",
    type=int,
    multiple=True,
    help="Duration of a stall of one actor, in ms. May be repeated.  [default: 2000]",
)
@click.option(
    "--pause-ms", type=int, multiple=True, help="Also stall whole processes for this duration, in ms. May be repeated."
)
@click.option(
    "--crashes",
    "max_crashes",
    type=int,
    help=(
        "Maximum number of crashes in one schedule, in addition to stalls.  [default: 1 with banks, "
        "transactions or --crash, else 0]"
    ),
)
@click.option(
    "--crash",
    multiple=True,
    metavar="NODE|producers|consumers",
    help="Nodes that may crash. May be repeated.  [default: producers and consumers]",
)
@click.option(
    "--restart-ms",
    type=int,
    multiple=True,
    help="How long after its crash a process starts again; 0: never. May be repeated.  [default: 2000]",
)
@click.option(
    "--losses",
    "max_losses",
    type=int,
    help="Maximum number of lost frames in one schedule, in addition to stalls.  [default: 1 with --lose, else 0]",
)
@click.option(
    "--lose",
    multiple=True,
    metavar="FRAME",
    help=(
        'Frames that may be lost: SEND_MESSAGE_V2, "reply to SEND_MESSAGE_V2" and so on. May be repeated.  '
        "[default: those that send, pull, send back, commit offsets and end transactions, and their replies]"
    ),
)
@click.option(
    "--forced-unlock",
    type=Read("NODE:QUEUE@MS", _forced_unlock),
    multiple=True,
    help="The consumer gives up a queue at that time.",
)
@click.option(
    "--from-ms",
    type=int,
    help="No stall before that virtual time.  [default: when the last consumer starts; with banks and transactions: "
    "when the first message is sent]",
)
@click.option(
    "--to-ms",
    type=int,
    help="No stall after that virtual time.  [default: when all stalls can be over; with banks and transactions: 1 s "
    "after the last message is sent]",
)
@click.option("--seed", type=click.IntRange(0, 2**53 - 1), help="The world's seed.  [default: the scenario's own]")
@click.option(
    "--random",
    "random_schedules",
    type=int,
    default=0,
    help="Number of random schedules (PCT, d=3) to try if nothing is found.",
)
@changed_option
@click.option(
    "--max-schedules", type=int, default=1_000_000, show_default=True, help="Stop after this number of schedules."
)
@click.option(
    "--processes",
    type=click.IntRange(1, 64),
    help="Number of processes that share the work. The findings are the same.  [default: one per core]",
)
@click.option(
    "--spark",
    "master",
    metavar="MASTER",
    help="Share the work on Spark: local[4], spark://host:7077, yarn. It is started when the search has taken 20 s "
    "in this process; shorter ones would wait for it longer than they take.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
@link_address_option
@option_rules(Excludes("--spark", "--processes", reason="both share the work"))
def command(
    scenario_name: str,
    without: tuple[str, ...],
    max_stalls: int | None,
    hold_ms: tuple[int, ...],
    pause_ms: tuple[int, ...],
    max_crashes: int | None,
    crash: tuple[str, ...],
    restart_ms: tuple[int, ...],
    max_losses: int | None,
    lose: tuple[str, ...],
    forced_unlock: tuple[tuple[int, str, int], ...],
    from_ms: int | None,
    to_ms: int | None,
    seed: int | None,
    random_schedules: int,
    max_schedules: int,
    changed: tuple[tuple[str, str, str], ...],
    processes: int | None,
    master: str | None,
    as_json: bool,
    address: str,
) -> None:
    """Search the schedules of a scenario for one that breaks an invariant.

    With orderly consumers that is a duplicate or a message out of order; with banks, money that is lost or comes from
    nowhere; with transactions, a half message that is consumed or forgotten.

    A schedule is one run of the world in which some actors stall at some of their steps, some processes die there, and
    some frames are lost. All schedules without a stall are run first, then all with one stall, crash or lost frame,
    then all with two. A finding is made as short as possible, and printed with a link that replays it. Exit code 1 when
    there is a finding.

    FILE|NAME is a scenario file (.yaml), or the name of one that "glassmq lab list" shows.

    \b
    Examples:
      glassmq explore two-consumers --without process-queue-lock --max-stalls 2
      glassmq explore two-consumers --without message-queue-lock --without consuming-flag
      glassmq explore two-consumers --max-stalls 1 --pause-ms 90000
      glassmq explore bank-naive --crashes 1
      glassmq explore bank-transaction --crash producers --max-stalls 0
      glassmq explore bank-transaction --losses 1 --crashes 0 --max-stalls 0
      glassmq explore bank-transaction --spark 'local[8]'
      glassmq explore order-and-stock --set consumers.idempotence_strategy=check-then-act
    """
    from app.commands.tool import load_scenario_argument
    from engine.lab.explorer.plan import ExplorationRequest

    scenario = load_scenario_argument(scenario_name)
    request = ExplorationRequest(
        scenario=scenario,
        seed=seed,
        without=tuple(dict.fromkeys(without)),
        max_stalls=max_stalls,
        hold_ms=hold_ms,
        pause_ms=pause_ms,
        max_crashes=max_crashes,
        crash=tuple(dict.fromkeys(crash)),
        restart_ms=tuple(dict.fromkeys(restart_ms)),
        max_losses=max_losses,
        lose=tuple(dict.fromkeys(lose)),
        forced_unlocks=forced_unlock,
        from_ms=from_ms,
        to_ms=to_ms,
        random_schedules=random_schedules,
        max_schedules=max_schedules,
        settings=tuple(one for change in changed for one in settings_of(scenario, change)),
    )
    exploration, spent = _explore(request, processes, master)
    if as_json:
        click.echo(json.dumps(exploration.state.to_dict() | spent.to_dict(), ensure_ascii=False))
    else:
        _report(exploration, request, spent, address)
    if exploration.state.finding is not None:
        raise SystemExit(1)


def _explore(request: ExplorationRequest, processes: int | None, master: str | None) -> tuple[Exploration, TimeSpent]:
    """Run the search to its end."""
    from app.foundation.forked_processes import forked_processes, usable_cores
    from engine.lab.explorer.exploration import Exploration
    from engine.lab.explorer.plan import make_plan
    from engine.lab.run.spread import silence_logging
    from engine.lab.scenario.errors import LabError

    silence_logging()
    # What is imported by now stays: the collector need not examine it after every world.
    gc.collect()
    gc.freeze()
    with usage_errors(LabError):
        plan = make_plan(request)
    with contextlib.ExitStack() as stack:
        forks = forked_processes(processes or usable_cores()) if master is None else None
        spread: Spread | None = None
        if master is not None:
            spread = LateSpark(master, stack)
        elif forks is None:
            spread, _ = stack.enter_context(shared_work(None, processes))
        exploration, spent = Exploration(plan, forks=forks, spread=spread), TimeSpent()
        _run(exploration, request.scenario, spent)
    return exploration, spent


def _run(exploration: Exploration, scenario: Scenario, spent: TimeSpent) -> None:
    """Continue to the end, or until Ctrl-C."""
    state = exploration.state
    shown_at = time.monotonic()
    # One bar per number of stalls: the number of schedules of the next level is known only when it begins.
    with click.progressbar(
        length=100, label=scenario.name, file=sys.stderr, show_eta=False, item_show_func=lambda item: item
    ) as bar:
        try:
            for _ in exploration.steps():
                spent.note(state)
                now = time.monotonic()
                if now - shown_at >= _PROGRESS_EVERY_S:
                    shown_at = now
                    bar.pos = min(100, 100 * state.search.done // max(1, state.search.planned))
                    bar.update(0, progress_text(state, spent))
        except KeyboardInterrupt:
            click.echo(f"\nstopped after {state.search.schedules:,} schedules", err=True)
            return
        bar.update(100 - bar.pos, progress_text(state, spent))


def progress_text(state: ExplorationState, spent: TimeSpent) -> str:
    """Return one line: the number of schedules, the rate, the depth, and what was found."""
    search = state.search
    kind = "random" if state.is_random else f"{search.depth} at a time"
    found = "found" if state.finding is not None else state.phase.value
    left = f", {(search.planned - search.done) / spent.rate:,.0f} s left" if spent.rate else ""
    return (
        f"{search.schedules:,} schedules, {spent.rate:,.0f}/s, {kind} "
        f"({search.done:,} of {search.planned:,}{left}), {found}"
    )


def _report(exploration: Exploration, request: ExplorationRequest, spent: TimeSpent, address: str) -> None:
    from engine.lab.explorer.plan import explain_nothing

    state, plan = exploration.state, exploration.plan
    bounded = state.bounded
    depths = ", ".join(f"{count:,} with {depth}" for depth, count in enumerate(bounded.by_depth))
    what = "stalls or crashes" if plan.bounds.max_crashes else "stalls"
    if plan.bounds.max_losses:
        what = f"{what.replace(' or', ',')} or lost frames"
    more = f"; {state.search.schedules:,} more" if state.search is not bounded else ""
    switches = f"without {', '.join(request.without)}" if request.without else "with everything switched on"
    click.echo(
        f"{request.scenario.name}, {switches}: {bounded.schedules:,} schedules "
        f"({depths} {what}){more}, stage, {spent.rate:,.0f}/s; "
        f"{state.tried_on_stage} on the stage; {spent.seconds:.2f} s in all"
    )
    finding = state.finding
    if finding is None:
        crashes = f" and {plan.bounds.max_crashes} crashes" if plan.bounds.max_crashes else ""
        losses = f" and {plan.bounds.max_losses} lost frames" if plan.bounds.max_losses else ""
        bound = f"all schedules with up to {plan.bounds.max_stalls} stalls{crashes}{losses} were run"
        click.echo(f"nothing found: {bound if state.is_complete else 'the search is not complete'}")
        if state.unconfirmed:
            click.echo(f"{state.unconfirmed} schedules broke something that no recording repeats")
        why = explain_nothing(plan, request.without)
        if why is not None and state.is_complete:
            click.echo(why["en"])
        return
    violation = finding.violation
    click.echo(f"{violation.checker} ({violation.anomaly.value}): {violation.text['en']}")
    for number, hold in enumerate(finding.holds, 1):
        click.echo(f"  {number}. {hold.caption['en']}")
        if hold.meanwhile["en"]:
            click.echo(f"     {hold.meanwhile['en']}")
    if not finding.holds:
        click.echo("  It needs no stall, no crash and no lost frame: it happens whenever this scenario runs.")
    for later in finding.later:
        click.echo(f"Then {later.checker} ({later.anomaly.value}): {later.text['en']}")
    click.echo(f"{address.rstrip('/')}/lab/{request.scenario.name}#{finding.link}")
