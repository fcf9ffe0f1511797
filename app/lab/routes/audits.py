"""Audits a run of the lab with Spark: a process of its own repeats the run and writes the brokers' messages to files;
the job ``delivery-audit`` then reads them.
"""

from __future__ import annotations

import contextlib
import re
import secrets
import shutil
import threading
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from urllib.parse import quote

from app.foundation.json_types import JsonObject
from app.foundation.translator import in_all_languages
from app.foundation.worker_process import WorkerProcess
from app.lab.foundation.bounds import LINK_MAX
from app.lab.foundation.refusal import LabRefused
from app.pipeline.folders import EXPORTS_FOLDER
from app.pipeline.host import RUNNING_MAX, PipelineHost, TooManyRuns, missing_package
from engine.lab.nodes.broker_node import BrokerNode
from engine.lab.nodes.consumer_node import ConsumerNode
from engine.lab.run.recording import parse_link
from engine.lab.run.run import LabRun
from engine.lab.scenario.errors import LabError

#: How many exports are kept, what the names of their folders end with, and how much the brokers of one may store.
EXPORTS_KEPT = 8
_EXPORT = re.compile(r".+-[0-9a-f]{8}")
EXPORT_MAX_BYTES = 64 << 20
#: The longest runs (engine.lab.run.recording.EVENTS_MAX) take half of it, at some 50 us per event.
EXPORT_TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True)
class AuditPlan:
    """The topics and groups that an audit of a run examines.

    :ivar link: the run, as it is now.
    :ivar topics: those whose messages are numbered.
    :ivar groups: each ``group@topic`` that must have consumed everything: all its consumers report, and want every
        message.
    :ivar silent: consumers of these topics that do not report.
    """

    scenario: str
    link: str
    topics: tuple[str, ...]
    groups: tuple[str, ...]
    silent: tuple[str, ...]

    def arguments(self, folder: Path) -> dict[str, object]:
        """Return the arguments of the job.

        When no group is to be audited they say so, because the job would otherwise take the groups that report.
        """
        return {
            "input_folder": str(folder),
            "topics": ",".join(self.topics),
            "groups": ",".join(self.groups),
            "judge_groups": bool(self.groups),
        }


def plan_of(run: LabRun) -> AuditPlan:
    """Return what an audit of the run examines. Raises :class:`LabRefused` when it would show nothing."""
    brokers = run.world.brokers()
    if down := [node.name for node in brokers if node.broker is None]:
        raise LabRefused("audit_broker_down", nodes=", ".join(down))
    if sum(map(_stored_bytes, brokers)) > EXPORT_MAX_BYTES:
        raise LabRefused("audit_too_much", limit=EXPORT_MAX_BYTES >> 20)
    producers = [node for node in run.world.producers() if node.spec.traffic]
    topics = dict.fromkeys(t.topic for node in producers if node.numbers_messages for t in node.spec.traffic)
    if not topics:
        raise LabRefused("audit_no_numbers")
    members: dict[str, list[ConsumerNode]] = {}
    for node in run.world.consumers():
        if node.spec.topic in topics:
            members.setdefault(f"{node.spec.group}@{node.spec.topic}", []).append(node)
    return AuditPlan(
        run.scenario.name,
        run.link(),
        tuple(topics),
        tuple(group for group, consumers in members.items() if all(map(_must_have_all, consumers))),
        tuple(node.name for consumers in members.values() for node in consumers if not _reports(node)),
    )


def producers_without_numbers(run: LabRun) -> list[str]:
    """Return the producers that could number what they send."""
    producers = [node for node in run.world.producers() if node.spec.traffic]
    return [node.name for node in producers if not node.numbers_messages]


def _stored_bytes(node: BrokerNode) -> int:
    if node.broker is None:
        return 0
    return node.broker.store.commit_log.max_offset - node.broker.store.commit_log.min_offset


def _reports(node: ConsumerNode) -> bool:
    return bool(node.settings.get("enable_msg_trace", False))


def _must_have_all(node: ConsumerNode) -> bool:
    return _reports(node) and node.spec.model == "clustering" and node.spec.expression == "*"


class LabAudits:
    """Starts the audits of runs. Used by web threads."""

    def __init__(self, pipeline: PipelineHost | None) -> None:
        self._pipeline = pipeline
        self._lock = threading.Lock()
        self._worker: WorkerProcess | None = None

    def pipeline(self) -> PipelineHost:
        """Return the host that runs the audit. Raises :class:`LabRefused`."""
        if self._pipeline is None:
            raise _no_job("switched_off")
        if missing := missing_package():
            raise _no_job("missing", package=missing)
        return self._pipeline

    def start(self, plan: AuditPlan) -> str:
        """Export the run, start its audit, and return the id of the pipeline's run. Raises :class:`LabRefused`."""
        pipeline = self.pipeline()
        if not self._lock.acquire(blocking=False):
            raise LabRefused("server_busy")
        try:
            return self._start(pipeline, plan)
        finally:
            self._lock.release()

    def _start(self, pipeline: PipelineHost, plan: AuditPlan) -> str:
        exports = (pipeline.settings.folder / EXPORTS_FOLDER).resolve()
        name = re.sub(r"\W+", "-", plan.scenario).strip("-")[:60]
        folder = exports / f"{name or 'run'}-{secrets.token_hex(4)}"
        # A link that no page could open leads nowhere.
        origin = f"/lab/{quote(plan.scenario, safe='')}?exact#{plan.link}" if len(plan.link) <= LINK_MAX else None
        try:
            self.export(plan.link, folder)
            run_id = pipeline.start("delivery-audit", plan.arguments(folder), origin=origin)
        except BaseException as error:
            shutil.rmtree(folder, ignore_errors=True)
            if isinstance(error, TooManyRuns):
                raise _no_job("full", limit=RUNNING_MAX) from None
            raise
        _delete_old(exports, pipeline)
        return run_id

    def export(self, link: str, folder: Path) -> int:
        """Run what ``link`` leads to again in another process, write the messages of its brokers, and return their
        number.

        Raises :class:`LabRefused`.
        """
        worker = self._worker = WorkerProcess("glassmq lab export", export_in_process, link, str(folder))
        try:
            if not worker.receiver.poll(EXPORT_TIMEOUT_S):
                raise LabRefused("audit_too_long", seconds=int(EXPORT_TIMEOUT_S))
            answer: JsonObject = worker.receiver.recv()
        except (EOFError, OSError):
            raise LabRefused("audit_died") from None
        finally:
            self._worker = None
            worker.close()
        if "problem" in answer:
            raise LabRefused("audit_export", problem=answer["problem"])
        return int(answer["messages"])

    def close(self) -> None:
        """End the export that is under way."""
        if (worker := self._worker) is not None:
            worker.terminate()


def _no_job(key: str, **values: object) -> LabRefused:
    """Return a refusal with the text of the pipeline's page."""
    return LabRefused("audit_pipeline", problem=in_all_languages(f"pipeline.{key}", **values))


def _delete_old(exports: Path, pipeline: PipelineHost) -> None:
    """Delete all exports but the newest ones; keep those that a run still reads, and delete nothing but exports."""
    going_on = [run["arguments"].get("input_folder") for run in pipeline.runs() if run["ended_us"] is None]
    used = [Path(folder).resolve() for folder in going_on if folder and isinstance(folder, str)]
    ages = {}
    with contextlib.suppress(OSError):  # another thread has just deleted one: the next audit retries
        ages = {path: path.stat().st_mtime_ns for path in exports.iterdir() if _EXPORT.fullmatch(path.name)}
    for old in sorted(ages, key=lambda path: ages[path], reverse=True)[EXPORTS_KEPT:]:
        # A run may read one file of it, or all exports.
        if not any(folder.is_relative_to(old) or old.is_relative_to(folder) for folder in used):
            shutil.rmtree(old, ignore_errors=True)


def export_in_process(sender: Connection, link: str, folder: str) -> None:
    """Export a run in a process of its own: it sends ``{messages}``, or ``{problem}`` in both languages."""
    from engine.pipeline.errors import JobFailed
    from engine.pipeline.world_export import export_messages

    try:
        with LabRun.replay(parse_link(link)) as run:
            sender.send({"messages": export_messages(run, Path(folder))})
    except LabError as error:
        sender.send({"problem": dict(error.text)})
    except JobFailed as error:
        sender.send({"problem": dict(error.sentence)})
