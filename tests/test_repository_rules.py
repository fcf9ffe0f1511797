"""The rules that hold the source together: import direction, determinism, docstrings, file size, page packages.

Each rule is itself tested on a snippet that breaks it, so a rule that went blind is noticed.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
from pathlib import Path

import pytest

from scripts.fetch_page_packages import PAGE_PACKAGES
from tests.support.rules.determinism_rules import broken_rules
from tests.support.rules.import_direction import ALLOWED_IMPORTS, wrong_imports
from tests.support.rules.kind_questions import class_questions, kind_names
from tests.support.rules.page_imports import foreign_imports, readers_of_live_state, ways_to_the_lab
from tests.support.rules.rooms import crowded_folders, import_circle, imports_of, modules_below, upward_imports

PROJECT = Path(__file__).resolve().parent.parent
ENGINE_FILES = sorted((PROJECT / "engine").rglob("*.py"))
APP_FILES = sorted((PROJECT / "app").rglob("*.py"))
OTHER_FILES = sorted([*(PROJECT / "scripts").rglob("*.py"), *(PROJECT / "tests").rglob("*.py")])
LONGEST_FILE_LINES = 450
PICTURES = {".png", ".webp"}

#: The engine's files that may touch the world: the runtime, the one place that makes a live runtime for users who
#: bring none, those that read the lab's own scenarios and the texts, what decides which form of the engine Python
#: loads, and what never runs in a lab: the pipeline, as Spark brings its processes, threads and files, the live engine
#: of one process, and the test kit, which runs that in the process of somebody's tests.
OUTSIDE_THE_PORT = (
    PROJECT / "engine" / "runtime",
    PROJECT / "engine" / "compiled",
    PROJECT / "engine" / "client" / "foundation" / "default_runtime.py",
    PROJECT / "engine" / "lab" / "scenario" / "scenario_files.py",
    PROJECT / "engine" / "texts",
    PROJECT / "engine" / "pipeline",
    PROJECT / "engine" / "live",
    PROJECT / "engine" / "testkit",
)


def relative(path: Path) -> str:
    """The path as a person names it, from the project's folder."""
    return path.relative_to(PROJECT).as_posix()


def module_name(path: Path) -> str:
    """The dotted name of the module in ``path``; a package's own file counts as ``package.__init__``."""
    return relative(path).removesuffix(".py").replace("/", ".")


# -------------------------------------------------------------------------------------------------- outside input

#: Modules that tell a number from true and false by hand, as a reader of outside input does. Another one needs a table
#: of fields (:mod:`engine.fields`), or its reason here.
NUMBERS_BY_HAND = {
    "app/lessons/expression.py": "values of expressions, not input",
    "app/live/client_answers.py": "leaves out what it does not understand",
    "app/pipeline/run_record.py": "leaves out what it does not understand",
    "engine/bank/transfer.py": "three fields: a table would be longer",
    "engine/client/callbacks/consume_concurrently.py": "the value that a listener returns",
    "engine/filter/bloom_filter.py": "a part of a file of the broker",
    "engine/pipeline/jobs/arguments.py": "an integer may stand for a text",
    "engine/pipeline/source/cluster/queue_offsets.py": "free names of topics and queues",
    "engine/protocol/body/message_queue.py": "bodies of the protocol: the path of every message",
    "engine/protocol/command/remoting_command.py": "frames of the protocol: the path of every message",
    "engine/protocol/json_form/json_fields.py": "bodies of the protocol: the path of every message",
    "engine/protocol/message/numbering_ledger.py": "a field of a message's property",
}
_TOLD_BY_HAND = re.compile(r"isinstance\((\w+), (?:int\b[^()]*)\).*isinstance\(\1, bool\)")
_TOLD_THE_OTHER_WAY = re.compile(r"isinstance\((\w+), bool\).*isinstance\(\1, int\b[^()]*\)")


def reads_number_by_hand(source: str) -> bool:
    """Whether a line of the source checks that a value is a number, and neither true nor false."""
    return any(_TOLD_BY_HAND.search(line) or _TOLD_THE_OTHER_WAY.search(line) for line in source.splitlines())


def test_outside_input_is_read_by_tables_of_fields():
    by_hand = {relative(path) for path in (*ENGINE_FILES, *APP_FILES) if reads_number_by_hand(path.read_text())}
    assert by_hand - {"engine/fields/field.py"} == set(NUMBERS_BY_HAND)


def test_a_number_that_is_read_by_hand_is_caught():
    assert reads_number_by_hand("if not isinstance(value, int) or isinstance(value, bool) or value < 0:\n    raise")
    assert reads_number_by_hand("return not isinstance(value, bool) and isinstance(value, int | float)")
    assert not reads_number_by_hand("isinstance(value, bool)\nisinstance(value, int)")


def test_bodies_of_requests_are_read_in_one_place():
    """``read_json_body`` of the lab allows an exported run to be longer, and says so."""
    reading = re.compile(r"\brequest\.(get_json|get_data|json|data|form|stream)\b")
    using = [relative(path) for path in APP_FILES if reading.search(path.read_text())]
    assert using == ["app/lab/routes/routes.py", "app/web/api_parameters.py"]


# ------------------------------------------------------------------------------------------------ import direction


def test_imports_of_the_engine_point_one_way():
    wrong = [line for path in ENGINE_FILES for line in wrong_imports(path.read_text(), module_name(path))]
    assert not wrong, "\n".join(wrong)


def test_every_package_of_the_engine_has_its_place_in_the_import_order():
    packages = {path.relative_to(PROJECT / "engine").parts[0] for path in ENGINE_FILES if path.parent.name != "engine"}
    assert packages <= set(ALLOWED_IMPORTS), "decide in ALLOWED_IMPORTS what the new package may import"


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("engine.protocol.message.message", "from engine.store.log.commit_log import CommitLog"),
        ("engine.protocol.message.message", "import engine.runtime.port"),
        ("engine.store.log.commit_log", "from engine import broker"),
        ("engine.store.log.commit_log", "def late():\n    from engine.broker.broker import Broker"),
        ("engine.store.log.commit_log", "from ...remoting import channel"),
        ("engine.client.queues.process_queue", "if TYPE_CHECKING:\n    from engine.broker.broker import Broker"),
        ("engine.remoting.channel", "from engine.store import message_store"),
        ("engine.runtime.live", "from engine.protocol.errors import ProtocolError"),
        ("engine.idempotence.listener", "from engine.remoting.channel import Channel"),
        ("engine.lab.world.world", "from app.live.live_host import LiveHost"),
        ("engine.broker.broker", "from engine.lab.world.world import ScenarioWorld"),
        ("engine.runtime.lab.lab_loop", "import engine.lab.run.run"),
        ("engine.__init__", "import engine.broker"),
        ("engine.broker.broker", "import tests.support"),
    ],
)
def test_an_import_that_points_the_wrong_way_is_caught(module, source):
    assert len(wrong_imports(source, module)) == 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("engine.broker.broker", "from engine.store.message_store import MessageStore\nimport asyncio"),
        ("engine.store.log.commit_log", "from .mapped_file import MappedFile"),
        ("engine.lab.world.world", "from engine.broker.broker import Broker"),
    ],
)
def test_an_import_that_points_the_right_way_passes(module, source):
    assert wrong_imports(source, module) == []


# ------------------------------------------------------------------------------------------------- kinds of nodes

#: Folders in which a kind answers.
OF_KINDS = (PROJECT / "engine" / "lab" / "scenario" / "kinds", PROJECT / "engine" / "lab" / "nodes")
#: Modules elsewhere that ask a node for its class. Another one needs an attribute of ``NodeSpec`` or ``ScenarioNode``,
#: ``of_kind`` of the scenario, ``find`` or ``roles`` of the world; or here the number and the reason of its questions.
ASKING_FOR_CLASSES = {
    "app/lab/views/node_views.py": (1, "an entry of the table of views is for one class, and checks it"),
    "app/lab/views/world_view.py": (1, "the class selects the entry of that table"),
    "engine/lab/scenario/scenario.py": (2, "the look-up of all specifications of one kind"),
}


def test_a_node_is_asked_what_its_kind_answers_and_not_for_its_class():
    files = [path for path in (*ENGINE_FILES, *APP_FILES) if not any(path.is_relative_to(one) for one in OF_KINDS)]
    kinds = kind_names()
    asking = {relative(path): lines for path in files if (lines := class_questions(path.read_text(), kinds))}
    counts = {name: len(lines) for name, lines in asking.items()}
    assert counts == {name: count for name, (count, _) in ASKING_FOR_CLASSES.items()}, asking


@pytest.mark.parametrize(
    "source",
    [
        "isinstance(one, ConsumerSpec | ProducerSpec)",
        "isinstance(role.spec, _SERVERS)",
        "isinstance(world.nodes[name], kind)",
        "_FIELDS[type(spec)]",
        "_FIELDS[type(scenario.node(name))]",
        "match one:\n    case BrokerSpec() if is_on: ...",
        "one.role == RedisSpec.role",
        "isinstance(bank, PayingBankSpec)",
        "isinstance(one, BrokerNode)",
    ],
)
def test_a_question_for_the_class_of_a_node_is_caught(source):
    assert class_questions(source, kind_names())


@pytest.mark.parametrize(
    "source",
    [
        "isinstance(node, ScalarNode)",
        "type(error)",
        "world.roles(BrokerNode)",
        "match one:\n    case SendInvoked(): ...",
    ],
)
def test_a_question_for_another_class_passes(source):
    assert not class_questions(source, kind_names())


# ---------------------------------------------------------------------------------------------------------- rooms


@pytest.fixture(scope="module")
def modules() -> dict[str, Path]:
    return modules_below(PROJECT, "engine", "app")


@pytest.fixture(scope="module")
def imports(modules) -> dict[str, list[str]]:
    return {module: sorted(set(imports_of(module, path, modules))) for module, path in modules.items()}


def test_no_modules_of_engine_and_app_import_each_other_in_a_circle(imports):
    assert import_circle(imports) == []


def test_a_room_imports_from_the_rooms_before_it_only(imports, modules):
    assert upward_imports(imports, modules) == []


@pytest.fixture(scope="module")
def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files"], cwd=PROJECT, capture_output=True, text=True, check=True)
    return [Path(line) for line in listed.stdout.splitlines()]


def test_a_folder_holds_twenty_files_at_most(tracked):
    assert crowded_folders(tracked) == {}


def test_what_is_neither_text_nor_a_picture_is_a_golden_file_of_a_test(tracked):
    golden = Path("tests/golden")
    binary = [one for one in tracked if one.suffix not in PICTURES and b"\0" in (PROJECT / one).read_bytes()]
    assert [one for one in binary if one.parent != golden] == []


def test_a_circle_is_found_also_where_only_type_checkers_see_it(tmp_path):
    sources = {
        "a": "from b import B",
        "b": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import c\nclass B: pass",
        "c": "def late():\n    import a",
        "d": "import a",
    }
    paths = {name: tmp_path / f"{name}.py" for name in sources}
    for name, path in paths.items():
        path.write_text(sources[name])
    circle = import_circle({name: list(imports_of(name, path, paths)) for name, path in paths.items()})
    assert set(circle) == {"a", "b", "c"}


@pytest.mark.parametrize(
    ("module", "imported"),
    [
        ("engine.client.queues.process_queue", "engine.client.consumer.default_mq_push_consumer"),
        ("engine.client.foundation.errors", "engine.client"),
        ("engine.store.log.commit_log", "engine.store.message_store"),
        ("engine.protocol.names", "engine.protocol.body.bodies"),
        ("engine.store.attic.commit_log", "engine.store.log.commit_log"),
    ],
)
def test_an_import_from_a_later_room_or_a_room_without_a_place_is_caught(module, imported):
    here = {name: Path(f"{name.replace('.', '/')}.py") for name in (module, imported)}
    caught = upward_imports({module: [imported], imported: []}, here)
    assert len(caught) == 1


def test_the_twenty_first_file_of_a_folder_is_one_too_many():
    files = [Path("full") / f"{number}.py" for number in range(20)]
    assert crowded_folders(files) == {}
    assert crowded_folders([*files, Path("full/readme.md")]) == {"full": 21}


# ---------------------------------------------------------------------------------------------------- determinism


def test_the_engine_takes_time_chance_files_and_network_from_its_runtime_only():
    broken = [
        line
        for path in ENGINE_FILES
        if not any(path.is_relative_to(outside) for outside in OUTSIDE_THE_PORT)
        for line in broken_rules(path.read_text(), relative(path))
    ]
    assert not broken, "\n".join(broken)


@pytest.mark.parametrize(
    "source",
    [
        "import time",
        "from time import monotonic",
        "import os.path",
        "from os import urandom",
        "import uuid",
        "import threading",
        "import socket",
        "from secrets import token_hex",
        "import random\nrandom.shuffle(queues)",
        "from random import randint",
        "import random as r",
        "from random import Random\ngenerator = Random()",
        "import datetime\nnow = datetime.datetime.now()",
        "from datetime import datetime\nnow = datetime.utcnow()",
        "from datetime import date\nday = date.today()",
        "from pathlib import Path",
        "data = open('x').read()",
        "async def f(): await asyncio.wait_for(g(), 1)",
        "from asyncio import wait_for",
        "async def f(loop): await loop.run_in_executor(None, g)",
        "slot = hash(topic) % 16",
    ],
)
def test_a_way_around_the_runtime_is_caught(source):
    assert len(broken_rules(source, "snippet")) == 1


@pytest.mark.parametrize(
    "source",
    [
        "for topic in {'a', 'b'}: pass",
        "for topic in set(topics): pass",
        "for topic in {t for t in topics}: pass",
        "topics = set(rows)\nfor topic in topics: pass",
        "def f(topics: set[str] | None): return [t for t in topics]",
        "def f(topics: frozenset[str]): return ','.join(topics)",
        "def f(a, b): return list(set(a) - b)",
        "def f(old, new): return [k for k in old.keys() - new.keys()]",
        "def f(a): return tuple(frozenset(a).union(b))",
        "def f(a): g(*set(a))",
        "def f(a): yield from set(a)",
        "def f():\n    a = set()\n    return a.pop()",
        "class C:\n    def __init__(self): self.held = set()\n    def f(self): return [x for x in self.held]",
        "class C:\n    held: set[str]\n    def f(self):\n        for x in self.held: pass",
        "def f(): return {x: 1 for x in set(a)}",
        "def f(): return sum(x for x in set(a))",
    ],
)
def test_a_walk_over_a_set_is_caught(source):
    assert len(broken_rules(source, "snippet")) == 1


@pytest.mark.parametrize(
    "source",
    [
        "from random import Random\ndef f(random: Random): return random.random()",
        "import random\ndef f(r: random.Random): return r.choice([1])",
        "from random import Random\ngenerator = Random(7)",
        "from datetime import UTC, datetime\ntext = datetime.fromtimestamp(0, UTC).isoformat()",
        "for topic in sorted(set(topics)): pass",
        "topics = set(rows)\nfound = 'a' in topics and len(topics)",
        "names = set(rows)\nnames = sorted(names)\nfor name in names: pass",
        "def f(a): return sorted(x for x in set(a))",
        "def f(a): return {x + 1 for x in set(a)}",
        "def f(a): return max(set(a))",
        "def f(stack: list[int]): return stack.pop()",
        "def f(flags, mask):\n    for bit in range(flags & mask): pass",
        "class C:\n    def __hash__(self): return hash((self.a, self.b))",
        "async def f():\n    async with asyncio.timeout(1): pass",
        "class C:\n    def open(self): pass\n    def f(self): self.open()",
    ],
)
def test_code_that_runs_the_same_every_time_passes(source):
    assert broken_rules(source, "snippet") == []


# ------------------------------------------------------------------------------------------------- files and page


def test_every_file_of_the_engine_says_what_it_is():
    silent = [relative(path) for path in ENGINE_FILES if not ast.get_docstring(ast.parse(path.read_text()))]
    assert not silent, f"without a module docstring: {', '.join(silent)}"


def test_every_file_stays_short_enough_to_be_read():
    lengths = {relative(path): len(path.read_text().splitlines()) for path in (*ENGINE_FILES, *APP_FILES, *OTHER_FILES)}
    too_long = {name: lines for name, lines in lengths.items() if lines > LONGEST_FILE_LINES}
    assert not too_long, f"one of their concepts deserves a file of its own: {too_long}"


def test_the_packages_of_the_page_are_pinned_and_each_is_used():
    package = json.loads((PROJECT / "package.json").read_text())
    locked = json.loads((PROJECT / "package-lock.json").read_text())["packages"]
    assert sorted(package["dependencies"]) == sorted(PAGE_PACKAGES)
    wanted = package["dependencies"] | package["devDependencies"]
    assert {name: locked[f"node_modules/{name}"]["version"] for name in wanted} == wanted


def test_the_lock_file_has_checksums_and_names_no_download_host():
    locked = json.loads((PROJECT / "package-lock.json").read_text())["packages"]
    packages = {path: entry for path, entry in locked.items() if path}
    assert all("integrity" in entry for entry in packages.values())
    assert not [path for path, entry in packages.items() if "resolved" in entry]


def test_one_module_of_the_page_knows_how_a_server_is_reached():
    """The site without a server has others: static/site."""
    files = [path for path in (PROJECT / "static").rglob("*.js") if not {"vendor", "site"}.intersection(path.parts)]
    direct = re.compile(
        r"(?<![.\w])fetch\(|\bio\(|socket\.io-client|\b(XMLHttpRequest|EventSource|WebSocket|sendBeacon)\b"
    )
    code = re.compile(r"^\s*(//|/?\*).*$", re.MULTILINE)
    using = [relative(path) for path in files if direct.search(code.sub("", path.read_text(encoding="utf-8")))]
    assert using == ["static/common/transport.js"]


def test_pages_share_modules_through_static_parts_and_common_only():
    assert list(foreign_imports(PROJECT / "static")) == []


def test_imports_from_another_pages_folder_are_found(tmp_path):
    sources = {
        "live/main.js": 'import { Stage } from "../lab/stage.js";\nimport { Lane } from "../parts/lane/lane.js";\n',
        "parts/lane/lane.js": 'const view = await import("../../live/view.js");\n',
        "common/format.js": 'import "../parts/lane/lane.js";\nimport { keep } from "./kept.js";\n',
    }
    for name, source in sources.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(source)
    found = [line.partition(":")[0] for line in foreign_imports(tmp_path)]
    assert found == [
        "common/format.js imports ../parts/lane/lane.js",
        "live/main.js imports ../lab/stage.js",
        "parts/lane/lane.js imports ../../live/view.js",
    ]


def test_components_of_several_pages_do_not_read_the_live_state(tmp_path):
    assert list(readers_of_live_state(PROJECT / "static")) == []
    (tmp_path / "parts" / "lane").mkdir(parents=True)
    lane = tmp_path / "parts" / "lane" / "lane.js"
    lane.write_text(
        'import { state } from "../../common/cluster/view.js";\nimport { t } from "../../common/i18n.js";\n'
    )
    assert list(readers_of_live_state(tmp_path)) == ["parts/lane/lane.js imports ../../common/cluster/view.js"]


def test_the_live_page_does_not_load_the_state_of_the_lab(tmp_path):
    assert list(ways_to_the_lab(PROJECT / "static")) == []
    for name, imported in {"live/main.js": "../parts/tree.js", "parts/tree.js": "../common/world/view.js"}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f'import {{ x }} from "{imported}";')
    assert list(ways_to_the_lab(tmp_path)) == ["parts/tree.js imports ../common/world/view.js"]


def test_folders_of_modules_that_pages_share_hold_at_most_twenty_files():
    files = [relative(path) for top in ("parts", "common") for path in (PROJECT / "static" / top).rglob("*.js")]
    assert crowded_folders(map(Path, files)) == {}
