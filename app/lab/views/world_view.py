"""The view of one run: everything that the stage draws, a :class:`~app.picture.world.world.WorldPicture`.

A node is read again only when one of its actors has acted since the last view (the journal says so), or a command came
in; everything else stays the same object from view to view, which also makes the patches cheap.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from app.lab.foundation.bounds import COMMANDS_SHOWN, JOURNAL_BATCH, VIOLATIONS_SHOWN
from app.lab.foundation.refusal import LabRefused
from app.lab.views.actors_view import ActorsView
from app.lab.views.backlog_view import BacklogView
from app.lab.views.calls_view import CallsView
from app.lab.views.faults_view import faults_view, held_actors
from app.lab.views.frames import FramesView
from app.lab.views.life_view import LifeView
from app.lab.views.money.bank_view import MoneyView
from app.lab.views.money.xa_view import XaView, roles_of
from app.lab.views.node_views import NODE_VIEWS, NodeView
from app.lab.views.page_cache_view import page_cache_view
from app.lab.views.work_view import Owners, owners_of
from engine.faults.frame_meaning import KEYS_SHOWN
from engine.lab.checkers.watch.violation import Violation
from engine.lab.narration.narrator import Caption, Narrator
from engine.lab.narration.stop_words import said_of_breakpoint
from engine.lab.scenario.condition import Condition
from engine.lab.scenario.settings import settings_of
from engine.lab.world.next_step import next_step

if TYPE_CHECKING:
    from app.foundation.json_types import JsonValue
    from app.picture.session.journal import JournalEntries
    from app.picture.world import invariant
    from app.picture.world import world as picture
    from app.picture.world.actor import NextStep
    from app.picture.world.node import NodePicture, NodeProcess
    from app.picture.world.playing import StopReason
    from engine.lab.nodes.scenario_node import ScenarioNode
    from engine.lab.run.run import LabRun
    from engine.lab.scenario.scenario import TryButton

#: Journal entries that are read to find out which nodes acted; after more, all nodes are read.
_ENTRIES_READ = 400


class WorldView:
    """The view of one run, which it watches from its first event on. A view takes well below 3 ms to build."""

    def __init__(self, run: LabRun) -> None:
        self.run = run
        world = run.world
        self.frames = FramesView(world)
        self._actors = ActorsView(world.lab)
        self._money = MoneyView(world)
        self.lives = LifeView(world)
        self.calls = CallsView(world)
        self._backlog = BacklogView(run)
        self._node_views: dict[str, NodeView] = {}
        #: Node -> what its view was made from, apart from the actions of its actors, and its view.
        self._nodes: dict[str, tuple[object, Mapping[str, object]]] = {}
        self._xa = XaView(world)
        self._xa_roles = roles_of(run.scenario)
        self._seen_event = 0
        self._seen_commands = -1
        self.narrator = Narrator(run)
        self._caption: tuple[Caption | None, picture.Caption | None] = (None, None)
        self._fixed = _fixed_part(run)
        self._settings: tuple[object, list[picture.Setting]] = (None, [])
        self._commands: list[dict[str, JsonValue]] = []
        self._invariants: tuple[object, list[invariant.Invariant]] = (None, [])

    def build(self) -> picture.WorldPicture:
        """Return the view of the run as it is; ``app.lab.session.session`` adds how it is played."""
        run = self.run
        world = run.world
        has_new_commands = len(world.history.commands) != self._seen_commands
        view: picture.WorldPicture = {
            **self._fixed,
            "seed": self.run.seed,
            "event": world.event_number,
            "time_us": world.now_us,
            "is_over": world.is_over,
            # First: brokers' dead letters come from it.
            "life": self.lives.build(),
            "nodes": self._build_nodes(all_changed=has_new_commands),
            "money": self._money.build(),
            "backlog": self._backlog.build(),
            "xa": self._xa.build(),
            "frames": self.frames.view(world.now_us),
            "calls": self.calls.build(),
            "timers": self._actors.timers(),
            "actors": self._actors.actors(),
            "next": _next_step(run),
            "caption": self._build_caption(),
            "invariants": self._build_invariants(),
            "faults": faults_view(world),
            "commands": self._build_commands(),
            "settings": self._build_settings(),
            "failures": [
                {
                    "event": failure.event_number,
                    "actor": failure.actor,
                    "text": f"{failure.message}: {failure.exception!r}",
                }
                for failure in world.failures[-VIOLATIONS_SHOWN:]
            ],
        }
        self._seen_event = world.event_number
        self._seen_commands = len(world.history.commands)
        return view

    def journal_after(self, number: int) -> JournalEntries:
        """Return the newest entries after entry ``number``."""
        journal = self.run.world.journal
        last = journal.dropped + len(journal.entries)
        start = max(number, last - JOURNAL_BATCH, journal.dropped)
        return {"from": start, "entries": [[*entry] for entry in journal.entries[start - journal.dropped :]]}

    # ------------------------------------------------------------------------------ nodes

    def _build_nodes(self, *, all_changed: bool) -> dict[str, NodePicture]:
        acted = None if all_changed else self._nodes_that_acted()
        nodes: dict[str, NodePicture] = {}
        owners = owners_of(self.run.world) if self.run.scenario.has_work else {}
        for name, role in self.run.world.nodes.items():
            held = held_actors(role)
            node_view = self._node_views.get(name)
            if node_view is None:
                node_view = self._node_views[name] = NODE_VIEWS[type(role)](role, self.lives)
            state = (
                role.status,
                role.incarnation,
                role.runtime.clock.skew_ms,
                held,
                owners if node_view.shows_owners else None,
            )
            known = self._nodes.get(name)
            if known is None or acted is None or name in acted or known[0] != state:
                known = (state, self._node(role, held, owners))
            self._nodes[name] = known
            nodes[name] = cast("NodePicture", known[1])  # what the table of views makes has one type per entry
        return nodes

    def _nodes_that_acted(self) -> set[str] | None:
        """Return the names of the nodes whose actors ran an event since the last view; None when there were too many
        events.
        """
        journal = self.run.world.journal
        count = self.run.world.event_number - self._seen_event
        if count > min(_ENTRIES_READ, len(journal.entries)):
            return None
        entries = journal.entries[len(journal.entries) - count :]
        return {node_of(entry.actor) for entry in entries}

    def _node(self, role: ScenarioNode, held: tuple[str, ...], owners: Owners) -> Mapping[str, object]:
        view: NodeProcess = {
            "status": role.status,
            "has_run": role.has_run,
            "is_starting": role.is_starting,
            "incarnation": role.incarnation,
            "skew_ms": role.runtime.clock.skew_ms,
            "held": list(held),
            "failure": role.failure or None,
            "ip": role.runtime.identity.host_ip,
            "xa_roles": self._xa_roles.get(role.name),
            "page_cache": page_cache_view(role.world.disk_of(role.name), role.runtime.node, role.world.now_us),
        }
        return {"role": role.role, **view, **self._node_views[role.name].build(owners)}

    # ------------------------------------------------------------------------------ the rest

    def _build_invariants(self) -> list[invariant.Invariant]:
        violations = self.run.violations
        if self._invariants[0] != len(violations):
            by_checker: dict[str, list[invariant.Violation]] = {}
            for violation in violations[:VIOLATIONS_SHOWN]:
                by_checker.setdefault(violation.checker, []).append(violation_view(violation))
            shown: list[invariant.Invariant] = [
                {
                    "name": checker.name,
                    "title": dict(checker.title),
                    "why": dict(checker.why),
                    "anomaly": str(checker.anomaly.value),
                    "ok": checker.name not in by_checker,
                    "violations": by_checker.get(checker.name, []),
                }
                for checker in (self.run.checkers.checkers if self.run.checkers is not None else ())
            ]
            self._invariants = (len(violations), shown)
        return self._invariants[1]

    def _build_caption(self) -> picture.Caption | None:
        caption = self.narrator.caption
        if caption != self._caption[0]:
            self._caption = (caption, None if caption is None else _caption_view(caption))
        return self._caption[1]

    def _build_commands(self) -> list[dict[str, JsonValue]]:
        commands = self.run.world.history.commands
        if len(commands) != self._seen_commands:
            self._commands = [
                {"event": done.event, "time_us": done.time_us, **done.command.to_dict()}
                for done in commands[-COMMANDS_SHOWN:]
            ]
        return self._commands

    def _build_settings(self) -> list[picture.Setting]:
        """Return what the scenario and commands have set: the timers and sizes that the lesson is about."""
        made_from = [
            (role.name, name, value) for role in self.run.world.nodes.values() for name, value in role.settings.items()
        ]
        if self._settings[0] != made_from:
            shown: list[picture.Setting] = []
            for role in self.run.world.nodes.values():
                for name, value in role.settings.items():
                    unit = settings_of(role.role)[name].unit if name in settings_of(role.role) else ""
                    shown.append({"node": role.name, "name": name, "value": value, "unit": unit})
            self._settings = (made_from, shown)
        return self._settings[1]


def view_of(run: LabRun) -> picture.WorldPicture:
    """Return one view of ``run``, built from scratch, for scripts and tests. Frames are recorded only from here on."""
    return WorldView(run).build()


def _fixed_part(run: LabRun) -> picture.ScenarioPart:
    scenario = run.scenario
    return {
        "scenario": scenario.name,
        "title": dict(scenario.title),
        "summary": dict(scenario.summary),
        "about": dict(scenario.about),
        "suggestion": dict(scenario.suggestion),
        "try_buttons": [_try_button_json(button) for button in scenario.try_buttons],
        "focus": list(scenario.focus),
        "duration_us": run.world.end_us,
    }


def _try_button_json(button: TryButton) -> picture.TryButton:
    condition = button.run_until
    return {
        "label": dict(button.label),
        "command": button.command.to_dict() if button.command is not None else None,
        "run_until": None
        if condition is None
        else {
            "on": condition.on.value,
            "node": condition.node,
            "contains": condition.contains,
            "time_us": condition.time_us,
        },
        "search": button.search,
    }


def _next_step(run: LabRun) -> NextStep | None:
    step = next_step(run.world)
    if step is None:
        return None
    return {
        "actor": step.actor,
        "node": step.node,
        "label": step.label,
        "due_us": step.due_us,
        "file": step.file,
        "line": step.line,
        "function": step.function,
    }


def _caption_view(caption: Caption) -> picture.Caption:
    return {
        "event": caption.event,
        "text": dict(caption.text),
        "kind": caption.kind,
        "weight": caption.weight,
        "keys": list(caption.keys[:KEYS_SHOWN]),
    }


def violation_view(violation: Violation) -> invariant.Violation:
    """Return one violation; the queue in ``element`` is named as the stage names it: ``topic@queue id``."""
    element = dict(violation.element)
    if "queue" in element and "topic" in element:
        element["queue"] = f"{element['topic']}@{element['queue']}"
    return cast("invariant.Violation", {**violation.to_dict(), "element": element})


def stop_reason(run: LabRun, narrator: Narrator) -> StopReason | None:
    """Return what ended the last stretch of ``run``; None when nothing did."""
    stopped_by = run.stopped_by
    if isinstance(stopped_by, Violation):
        return {"kind": "violation", **violation_view(stopped_by)}
    if isinstance(stopped_by, Condition):
        text = said_of_breakpoint(stopped_by, narrator.caption, run.event_number)
        return {"kind": "breakpoint", "text": dict(text)}
    if run.is_over:
        return {"kind": "over", "text": LabRefused("over").text}
    return None


def node_of(actor: str) -> str:
    """Return ``B1`` for the task ``B1/flush`` and for the link ``P1->B1#2``."""
    source, arrow, target = actor.partition("->")
    return target.partition("#")[0] if arrow else source.partition("/")[0]
