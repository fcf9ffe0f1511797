"""Writes the generated parts of the documents: commands, settings, request codes, the maps of folders and concepts.

    python -m scripts.generated_documents            rewrites them
    python -m scripts.generated_documents --check    says whether they are up to date (exit code 1 if not)

What a setting means is said once, in the comment above it in the source, and which RocketMQ class a file implements
in its docstring; this script carries it over. A part stands between ``<!-- generated: NAME -->`` and
``<!-- end -->``.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import json
import re
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import click

from app.command_line import main as command_line
from app.commands.lab.studies.compare import heading
from app.commands.lab.studies.study import StudyTable
from app.commands.serve import BROKER_OPTIONS, STORE_OPTIONS
from app.foundation.translator import translate
from app.glossary.glossary import glossary
from app.lessons.course import load_course
from app.lessons.lesson_files import load_lesson, number_of
from app.lessons.stage_targets import TARGETS
from app.live.fault_service import LIVE_COMMANDS
from app.testkit.openapi import openapi_document
from app.testkit.operations import OPERATIONS
from engine.broker.broker import Broker
from engine.broker.foundation.broker_config import BrokerConfig, java_name, java_value
from engine.client.consumer.message_back_sender import FIRST_RETRY_DELAY_LEVEL
from engine.client.foundation.client_config import ClientConfig
from engine.kafka.wire.api_key import BETWEEN_BROKERS
from engine.kafka.wire.api_key import VERSIONS as KAFKA_VERSIONS
from engine.lab.checkers import CHECKERS
from engine.lab.nodes.money_flow import MoneyFlow
from engine.lab.run.run import LabRun
from engine.lab.run.spread import silence_logging
from engine.lab.scenario.command import COMMANDS as LAB_COMMANDS
from engine.lab.scenario.command import CommandKind
from engine.lab.scenario.scenario_files import load_scenario, preset_scenario_names
from engine.lab.sweep.comparison import Change, run_with
from engine.live.engine_settings import java_style_name
from engine.name_server.name_server import NameServer
from engine.name_server.name_server_config import NameServerConfig
from engine.protocol.request_code import RequestCode
from engine.runtime.lab.lab_runtime import LabMachines
from engine.store.files.store_config import MessageStoreConfig
from scripts.page_moments import MOMENTS, SIZES
from tests.support.rules.import_direction import ALLOWED_IMPORTS
from tests.support.rules.rooms import ROOMS

ROOT = Path(__file__).parent.parent
DOCUMENTS = (
    ROOT / "docs" / "configuration.md",
    ROOT / "docs" / "architecture.md",
    ROOT / "docs" / "batches.md",
    ROOT / "docs" / "clients.md",
    ROOT / "docs" / "concepts.md",
    ROOT / "docs" / "glossary.md",
    ROOT / "docs" / "lab.md",
    ROOT / "docs" / "lessons.md",
    ROOT / "docs" / "images" / "pages" / "README.md",
    ROOT / "docs" / "retry.md",
    ROOT / "docs" / "transactions.md",
    ROOT / "docs" / "operating" / "faults.md",
    ROOT / "docs" / "testkit" / "other-languages.md",
)
_PART = re.compile(r"(<!-- generated: (?P<name>[a-z-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def commands() -> str:
    """Every command's own help text."""
    parts = []
    with click.Context(command_line, info_name="glassmq", **command_line.context_settings) as context:
        for name in command_line.list_commands(context):
            command = command_line.get_command(context, name)
            assert command is not None
            parts += _help_texts(command, name, context)
    return "\n".join(parts)


def _help_texts(command: click.Command, name: str, parent: click.Context) -> list[str]:
    """The help of ``command`` and of the commands below it, old names left out."""
    with click.Context(command, info_name=name, parent=parent) as context:
        texts = [f"### {context.command_path}\n\n```text\n{command.get_help(context)}\n```\n"]
        if isinstance(command, click.Group):
            for below in command.list_commands(context):
                sub_command = command.get_command(context, below)
                assert sub_command is not None
                if not sub_command.hidden:
                    texts += _help_texts(sub_command, below, context)
        return texts


def comments_of(config: type[Any]) -> dict[str, str]:
    """Return field -> the ``#:`` comment above it or the comment after it, or its ``:param`` in the docstring."""
    source_file = Path(sys.modules[config.__module__].__file__ or "")
    lines = source_file.read_text().splitlines()
    body = next(
        node
        for node in ast.parse("\n".join(lines)).body
        if isinstance(node, ast.ClassDef) and node.name == config.__name__
    )
    docstring = ast.get_docstring(body) or ""
    found = {
        match["name"]: " ".join(match["text"].split())
        for match in re.finditer(r":param (?P<name>\w+):(?P<text>.*?)(?=\n:param|\Z)", docstring, re.DOTALL)
    }
    for node in body.body:
        if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
            continue
        above: list[str] = []
        number = node.lineno - 2
        while lines[number].strip().startswith("#:"):
            above.insert(0, lines[number].strip().removeprefix("#:").strip())
            number -= 1
        _, _, behind = lines[node.lineno - 1].partition("  # ")
        if above or behind:
            found[node.target.id] = " ".join(above) or behind
    return found


def settings_table(config: type[Any], names: Any, options: Mapping[str, str] | None = None) -> str:
    """One row per setting. ``options`` maps settings that ``glassmq serve`` has an option for to that option."""
    comments = comments_of(config)
    rows = ["| name | ours | default | |", "|---|---|---|---|"]
    for field in dataclasses.fields(config):
        default = "(needed)" if field.default is dataclasses.MISSING else java_value(field.default)
        if field.default is None:
            default = "(none)"
        meaning = _cell(comments.get(field.name, "as in RocketMQ"))
        if options is not None and field.name in options:
            option, _, why = options[field.name].partition(" ")
            meaning = (
                f"**Set by option `{option}`**{f' {why}' if why else ''}. {_cell(comments.get(field.name, ''))}".strip()
            )
        rows.append(f"| `{names(field.name)}` | `{field.name}` | `{default}` | {meaning} |")
    return "\n".join(rows) + "\n"


def _cell(text: str) -> str:
    return text.replace("``", "`").replace("|", "\\|")


def request_codes() -> str:
    """The codes that name server and broker answer, and who does."""
    with LabMachines(seed=1) as world:
        name_server = NameServer(world.node("name-server"), NameServerConfig())
        broker = Broker(world.node("broker-a"), BrokerConfig(), MessageStoreConfig())
        rows = ["| code | name | answered by |", "|---|---|---|"]
        for server, processors in (
            ("name server", name_server.server.processors),
            ("broker", broker.server.processors),
        ):
            for code in processors.codes:
                owner = getattr(inspect.unwrap(processors.find(code)), "__self__", None)
                rows.append(f"| {code} | {RequestCode(code).name} | {server}: `{type(owner).__name__}` |")
    return "\n".join(rows) + "\n"


#: Classes of ours (the port's), of Java and of Spark that docstrings name too.
_OURS = frozenset({"DataFrame", "Disk", "Network", "Runtime", "String", "ScheduledExecutorService"})
#: A Java class in a docstring; a method after it is left out.
_JAVA_CLASS = re.compile(r"``([A-Z][a-z]?[A-Za-z0-9]*[a-z][A-Za-z0-9]*)")


def concepts(system: str = "RocketMQ") -> str:
    """RocketMQ's classes or Kafka's, and the files whose docstrings name them in the first paragraph."""
    found: dict[str, list[str]] = {}
    for path in sorted((ROOT / "engine").rglob("*.py")):
        paragraph = (ast.get_docstring(ast.parse(path.read_text())) or "").split("\n\n")[0]
        for name in dict.fromkeys(_JAVA_CLASS.findall(paragraph)):
            if name not in _OURS and ("Kafka:" in paragraph) == (system == "Kafka"):
                found.setdefault(name, []).append(f"`{path.relative_to(ROOT)}`")
    for name, paths in found.items():
        # The file that has the class's own name comes first.
        paths.sort(key=lambda path: path.rpartition("/")[2].replace("_", "") != f"{name.lower()}.py`")
    rows = [f"| {system} | here |", "|---|---|"]
    rows += [f"| {name} | {', '.join(found[name])} |" for name in sorted(found, key=str.lower)]
    return "\n".join(rows) + "\n"


def folders() -> str:
    """Return a row per package of ``engine`` and ``app``, in the order in which they may import each other."""
    rows = ["| folder | contents |", "|---|---|", *_folder_rows("engine"), *_folder_rows("app")]
    return "\n".join(rows) + "\n"


def _folder_rows(folder: str) -> Iterator[str]:
    docstring = ast.get_docstring(ast.parse((ROOT / folder / "__init__.py").read_text())) or ""
    first_sentence = re.split(r"(?<=\.)\s", " ".join(docstring.split()), maxsplit=1)[0]
    yield f"| `{folder}` | {_cell(re.sub(r':[a-z]+:(?=`)', '', first_sentence))} |"
    order = tuple(ALLOWED_IMPORTS) if folder == "engine" else ROOMS.get(folder.replace("/", "."), ())
    rooms = {path.parent.name for path in (ROOT / folder).glob("*/__init__.py")}
    for room in sorted(rooms, key=lambda room: (order.index(room) if room in order else len(order), room)):
        yield from _folder_rows(f"{folder}/{room}")


def kafka_requests() -> str:
    """The version of each of Kafka's requests that is supported."""
    rows = ["| request | number | version |", "|---|---|---|"]
    rows += [
        f"| {key.name} | {key.value} | {version} |"
        for key, version in KAFKA_VERSIONS.items()
        if key not in BETWEEN_BROKERS
    ]
    return "\n".join(rows) + "\n"


def lab_scenarios() -> str:
    """The scenarios that come along."""
    rows = ["| name | title | what it shows | what breaks |", "|---|---|---|---|"]
    for name in preset_scenario_names():
        scenario = load_scenario(name)
        breaks = ", ".join(translate("en", f"lab.breaks.{word}") for word in scenario.tags.breaks)
        rows.append(f"| `{name}` | {scenario.title['en']} | {_cell(scenario.summary['en'])} | {breaks} |")
    return "\n".join(rows) + "\n"


def page_pictures() -> str:
    """Return the pages at telling moments: before they were redesigned, and now, as far as there are pictures."""
    folder = ROOT / "docs" / "images" / "pages"
    rows = ["| | before | now |", "|---|---|---|"]
    for moment in MOMENTS:
        for size in SIZES:
            name = f"{moment.name}-{size.name}.webp"
            there = [kind for kind in ("before", "after") if (folder / kind / name).exists()]
            cells = [
                f"![{moment.text}, {kind}]({kind}/{name})" if kind in there else "there was no such state"
                for kind in ("before", "after")
            ]
            if there:
                rows.append(f"| {moment.text} ({size.width}x{size.height}) | {cells[0]} | {cells[1]} |")
    return "\n".join(rows) + "\n"


def command_table(commands: Mapping[str, CommandKind]) -> str:
    """Every command of a lab world, or of a live engine, with its fields."""
    rows = ["| kind | target | fields | what it does |", "|---|---|---|---|"]
    for kind, command in commands.items():
        fields = ", ".join(
            f"`{field.name}`" + (f" ({field.default})" if field.default not in (..., "") else "")
            for field in command.fields
        )
        rows.append(f"| `{kind}` | {command.target.value} | {fields} | {_cell(command.what['en'])} |")
    return "\n".join(rows) + "\n"


def lab_invariants() -> str:
    """Every checker, and the anomaly that it finds."""
    rows = ["| name | what holds | why one wants it | anomaly |", "|---|---|---|---|"]
    rows += [
        f"| `{name}` | {checker.title['en']} | {checker.why['en']} | {checker.anomaly.value} |"
        for name, checker in CHECKERS.items()
    ]
    return "\n".join(rows) + "\n"


def bank_windows() -> str:
    """How long the banks of a scenario disagree, as its own run measures it."""
    rows = ["| scenario | transfers | A lost | B got | window: median | longest |", "|---|---|---|---|---|---|"]
    for name in ("bank-naive", "bank-transaction"):
        flow = MoneyFlow()
        with LabRun(load_scenario(name), check=False) as run:
            run.run_to_time(run.world.end_us)
            for entry in run.world.history.bank_entries:
                flow.take(entry)
        windows = [transfer.window_us for transfer in flow.transfers.values() if transfer.window_us is not None]
        median, longest = (f"{length_us / 1_000:,.0f} ms" for length_us in (statistics.median(windows), max(windows)))
        rows.append(f"| `{name}` | {len(windows)} | {flow.debited:,} | {flow.credited:,} | {median} | {longest} |")
    return "\n".join(rows) + "\n"


def lessons() -> str:
    """The lessons that come along, in the order of the course."""
    rows = ["| track | lesson | title | minutes | steps | builds on |", "|---|---|---|---|---|---|"]
    course = load_course()
    for track in course.tracks:
        for name in track.lessons:
            lesson, needs = load_lesson(name), ", ".join(str(number_of(other)) for other in course.needs[name])
            title, heading = track.title["en"], lesson.title()["en"]
            rows.append(f"| {title} | `{name}` | {heading} | {lesson.minutes} | {len(lesson.steps)} | {needs} |")
    return "\n".join(rows) + "\n"


def glossary_terms() -> str:
    """Return every term of the glossary, with the Chinese one next to it."""
    rows = ["| term | 中文 | meaning | 含义 | also found by | 不用 |", "|---|---|---|---|---|---|"]
    for term in glossary():
        cells = (
            ", ".join(term.names["en"]),
            "、".join(term.names["zh"]),
            term.about["en"],
            term.about["zh"],
            ", ".join(term.synonyms),
            "、".join(term.ruled_out),
        )
        rows.append(f"| {' | '.join(map(_cell, cells))} |")
    return "\n".join(rows) + "\n"


def lesson_targets() -> str:
    """What a lesson can point at."""
    rows = ["| target | what it is |", "|---|---|"]
    for kind, target in TARGETS.items():
        words = " ".join(word.replace("|", "\\|") for word in target.words)
        rows.append(f"| `{kind} {words}` | {target.what} |")
    return "\n".join(rows) + "\n"


#: What the page shows, too; ``glassmq lab study crash-points xa-two-phase --json ...`` writes it.
CRASH_POINTS = ROOT / "static" / "lab" / "crash_points" / "xa-two-phase.json"


def crash_points(way: str) -> str:
    """What a crash right after each step of a transfer does. A test runs some of it again."""
    rows: list[dict[str, object]] = []
    for point in json.loads(CRASH_POINTS.read_text(encoding="utf-8"))["points"]:
        if point["way"] == way:
            outcome = point["outcome"].replace("-", " ")
            row = {"dies": point["node"], "right after it": point["step"]["en"], "outcome": outcome}
            lengths = {"A or B locked": _seconds(point["locked_us"]), "window": _seconds(point["window_us"])}
            rows.append({**row, **lengths})
    return StudyTable(rows).markdown()


def _seconds(length_us: int | None) -> str:
    return "–" if not length_us else f"{length_us / 1e6:.2f} s"


def retry_delays() -> str:
    """The delay levels, and which retry waits at which, with RocketMQ's defaults."""
    config = MessageStoreConfig()
    words = config.message_delay_level.split()
    lines = ["| level | queue | delay | before retry | since the first try |", "|---|---|---|---|---|"]
    since_ms = 0
    for level, (word, delay_ms) in enumerate(zip(words, config.delay_levels_ms[1:], strict=True), start=1):
        retry = level - FIRST_RETRY_DELAY_LEVEL + 1
        since_ms += delay_ms if retry > 0 else 0
        hours, minutes, seconds = since_ms // 3_600_000, since_ms // 60_000 % 60, since_ms // 1_000 % 60
        since = f"{hours}:{minutes:02}:{seconds:02}" if retry > 0 else ""
        lines.append(f"| {level} | {level - 1} | {word} | {retry if retry > 0 else ''} | {since} |")
    return "\n" + "\n".join(lines) + "\n"


#: Part of docs/batches.md -> the comparison whose figures it shows, and which of them.
BATCH_COMPARISONS = {
    "batch-pull-size": (
        "C1",
        "pullBatchSize",
        (1, 8, 16, 32, 40),
        "pulls largest_pull pull_ms pulled_again per_second",
    ),
    "batch-call-size": (
        "C1",
        "consumeMessageBatchMaxSize",
        (1, 4, 8, 16, 32),
        "calls threads_busy seconds per_second consumed_again without_need",
    ),
    "batch-send-size": ("P1", "batch", (1, 4, 16, 64), "requests bytes_per_message per_second reply_ms"),
}


def batch_comparison(part: str) -> str:
    """What a size of batches costs and brings, as the engine of today does it."""
    node, setting, values, names = BATCH_COMPARISONS[part]
    rows = []
    for value in values:
        found = run_with(load_scenario("batch-trade-offs"), Change(node, setting, value)).figures._asdict()
        rows.append({f"`{setting}`": value, **{heading(name): f"{found[name]:g}" for name in names.split()}})
    return StudyTable(rows).markdown()


def testkit_operations() -> str:
    """The operations of the test kit's HTTP API; a parameter that must be given is bold."""
    lines = ["| operation | parameters | |", "|---|---|---|"]
    for operation in OPERATIONS:
        fields = sorted(operation.fields, key=lambda one: one.default is not ...)
        names = [f"**{one.name}**" if one.default is ... else one.name for one in fields]
        lines.append(f"| `{operation.method} {operation.path}` | {', '.join(names)} | {operation.summary} |")
    return "\n" + "\n".join(lines) + "\n"


#: Files that are generated as a whole.
FILES: Mapping[Path, Callable[[], str]] = {
    ROOT / "docs" / "testkit" / "openapi.json": lambda: json.dumps(openapi_document(), indent=2) + "\n",
}

PARTS: Mapping[str, Callable[[], str]] = {
    "testkit-operations": testkit_operations,
    **{part: partial(batch_comparison, part) for part in BATCH_COMPARISONS},
    "retry-delays": retry_delays,
    "bank-windows": bank_windows,
    "crash-points-two-phase": lambda: crash_points("two-phase"),
    "crash-points-message": lambda: crash_points("message"),
    "lessons": lessons,
    "glossary-terms": glossary_terms,
    "lesson-targets": lesson_targets,
    "lab-scenarios": lab_scenarios,
    "page-pictures": page_pictures,
    "lab-commands": lambda: command_table(LAB_COMMANDS),
    "live-commands": lambda: command_table(LIVE_COMMANDS),
    "lab-invariants": lab_invariants,
    "commands": commands,
    "broker-settings": lambda: settings_table(BrokerConfig, java_name, BROKER_OPTIONS),
    "store-settings": lambda: settings_table(MessageStoreConfig, java_style_name, STORE_OPTIONS),
    "name-server-settings": lambda: settings_table(NameServerConfig, java_style_name),
    "client-settings": lambda: settings_table(ClientConfig, java_style_name),
    "request-codes": request_codes,
    "folders": folders,
    "concepts": concepts,
    "kafka-concepts": partial(concepts, "Kafka"),
    "kafka-requests": kafka_requests,
}


def render(text: str) -> str:
    """Return ``text`` with every generated part generated again."""
    return _PART.sub(lambda match: f"{match[1]}\n{PARTS[match['name']]()}\n{match[3]}", text)


def main() -> int:
    """Rewrite or check."""
    silence_logging()  # some parts are runs of the lab, whose clients would tell of every fault
    fresh = {path: render(path.read_text()) for path in DOCUMENTS} | {path: make() for path, make in FILES.items()}
    outdated = {path: text for path, text in fresh.items() if not path.exists() or path.read_text() != text}
    if "--check" in sys.argv[1:]:
        return 1 if outdated else 0
    for path, text in outdated.items():
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
