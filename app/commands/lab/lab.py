"""``glassmq lab``: runs scenarios of the lab without a page."""

from __future__ import annotations

import click

from app.commands.lab.lab_export import export
from app.commands.lab.lab_film import film
from app.commands.lab.lab_pictures import pictures
from app.commands.lab.lab_run import run
from app.commands.lab.lab_study import old_names, study
from app.commands.lab.lab_why import why


@click.group("lab")
def command() -> None:
    """Run scenarios of the lab: a whole cluster in virtual time, with faults, checked after every event.

    \b
    Examples:
      glassmq lab list
      glassmq lab run general --seed 7
      glassmq lab run general --seeds 1000 --faults random --processes 2
      glassmq lab run my-scenario.yaml --seeds 200
      glassmq lab run general --seeds 1000000 --faults random --results runs --spark spark://host:7077
      glassmq lab study crash-points xa-two-phase
      glassmq lab study acknowledgement
      glassmq lab study compare batch-trade-offs --set C1.pullBatchSize=1,8,32
      glassmq lab study duplicates --seeds 1000
      glassmq lab why lost-offset-commit order-3
      glassmq lab pictures three-locks
      glassmq lab film three-locks -o duplicate.gif
      glassmq lab export three-locks -o duplicate.html
    """


command.add_command(run)
command.add_command(why)
command.add_command(pictures)
command.add_command(film)
command.add_command(export)
command.add_command(study)
for _old in old_names():
    command.add_command(_old)


@command.command("list")
def list_scenarios() -> None:
    """List the scenarios that come with GlassMQ."""
    from app.commands.tool import print_table
    from engine.lab.scenario.scenario_files import load_scenario, scenario_names

    rows: list[tuple[object, ...]] = []
    for name in scenario_names():
        scenario = load_scenario(name)
        faults = ", ".join(scenario.fault_model.kinds)
        rows.append((name, scenario.title["en"], len(scenario.nodes), scenario.duration_ms // 1_000, faults))
    print_table(("NAME", "TITLE", "NODES", "SECONDS", "RANDOM FAULTS"), rows)
