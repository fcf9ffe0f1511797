"""Golden journals: what each scenario of tutorials/scenarios does, as a file that people can read and compare.

Refresh them after a change that is meant to change what happens, and read the difference before committing it::

    python -m tests.lab.golden_journal            # writes tests/golden/lab/<shelf>/<scenario>.json
    python -m tests.lab.golden_journal general    # only this one

``story`` is what the clients saw; ``journal`` covers every event: its virtual time, who acted, and what it did. Event
numbers are left out of it. They are in ``events`` and, with the bytes of all frames, in ``journal_hash``.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

from engine.lab.kafka.kafka_broker_node import KafkaBrokerNode
from engine.lab.raft.raft_peer_node import RaftPeerNode, key_of
from engine.lab.run.recording import python_version
from engine.lab.run.run import LabRun
from engine.lab.scenario.scenario_files import load_scenario, scenario_names, shelved_scenario_names

FOLDER = Path(__file__).parents[1] / "golden" / "lab"
#: A longer story is cut; the hashes cover it all.
STORY_LINES = 250


def play(name: str) -> dict[str, Any]:
    """Run a scenario to its end with its own seed; what happened."""
    with LabRun(load_scenario(name)) as run:
        run.run_to_time(run.world.end_us)
        assert run.is_over, f"{name} did not come to its end"
        return {
            "scenario": name,
            "seed": run.seed,
            "python": python_version(),
            "events": run.event_number,
            "journal_hash": run.journal_hash,
            "journal": _normalised_hash(run),
            "violations": [violation.to_dict() for violation in run.violations],
            "end": _end(run),
            "story": _story(run),
        }


def _normalised_hash(run: LabRun) -> str:
    digest = hashlib.sha256()
    for entry in run.world.lab.journal.entries:
        digest.update(f"{entry.time_us} {entry.actor}|{entry.label}\n".encode())
    return digest.hexdigest()


def _end(run: LabRun) -> dict[str, Any]:
    """Return the state of the cluster at the end of the run."""
    brokers: dict[str, Any] = {}
    for role in run.world.brokers():
        broker = role.broker
        if broker is None:
            brokers[role.name] = {"status": role.status}
            continue
        brokers[role.name] = {
            "commit_log_bytes": broker.store.commit_log.max_offset,
            "queues": {
                f"{topic}/{queue_id}": queue.max_offset for topic, queue_id, queue in broker.store.consume_queues()
            },
            "offsets": {
                f"{group} {topic}/{queue_id}": offset
                for topic, group, offsets in broker.consumer_offset_manager.entries()
                for queue_id, offset in sorted(offsets.items())
            },
        }
    for kafka in run.world.roles(KafkaBrokerNode):
        ends = {f"{one.topic}/{one.partition}": one.next_offset for one in kafka.stored.segments()}
        offsets = {f"{group} {topic}/{number}": offset for (group, topic, number), offset in kafka.committed_offsets()}
        brokers[kafka.name] = {"partitions": ends, "offsets": offsets}
    for peer in run.world.roles(RaftPeerNode):
        brokers[peer.name] = {"term": peer.term, "log": [f"{one.term} {key_of(one)}" for one in peer.stored_entries()]}
    consumers = {
        role.name: sorted(f"{queue.topic}/{queue.queue_id}" for queue in role.consumer.process_queues)
        for role in run.world.consumers()
        if role.consumer is not None
    }
    return {"brokers": brokers, "consumers": consumers}


def _story(run: LabRun) -> list[str]:
    """Return one line for everything that a client received or did, in order."""
    history = run.world.history
    lines: list[tuple[int, int, str]] = []
    for command in history.commands:
        target = f" {command.command.target}" if command.command.target else ""
        lines.append((command.event, command.time_us, f"command {command.command.kind}{target}"))
    for sent in history.sends_returned:
        place = f" at {sent.broker} {sent.topic}/{sent.queue_id}/{sent.queue_offset}" if sent.status == "ok" else ""
        lines.append((sent.event, sent.time_us, f"{sent.node} sent {sent.key}: {sent.status}{place}"))
    for ended in history.transactions_ended:
        action = f"answered check {ended.check} of" if ended.check else "executed"
        lines.append((ended.event, ended.time_us, f"{ended.node} {action} {ended.key}: {ended.result}"))
    for entry in history.bank_entries:
        action = f"{entry.doing} of {entry.key}: {entry.outcome}, {entry.account} has {entry.balance}"
        lines.append((entry.event, entry.time_us, f"{entry.node} {entry.bank} {action}"))
    for done in history.consumes_ended:
        place = f"{done.broker} {done.topic}/{done.queue_id}/{done.queue_offset}"
        lines.append((done.event, done.time_us, f"{done.node} consumed {done.key} from {place}: {done.result}"))
    lines += [
        (work.event, work.time_us, f"{work.node} has done {work.effect} for {work.key}, asked by {work.by}")
        for work in history.work_done
    ]
    for judged in history.deliveries_judged:
        about = f"{judged.key} about {judged.order}"
        lines.append((judged.event, judged.time_us, f"{judged.node} judged {about}: {judged.verdict}"))
    for drop in history.messages_dropped:
        place = f"{drop.broker} {drop.topic}/{drop.queue_id}/{drop.queue_offset}"
        lines.append((drop.event, drop.time_us, f"{drop.node} dropped {drop.key} from {place}"))
    lines.sort(key=lambda line: line[0])
    reported = [f"{time_us / 1_000_000:10.6f} {text}" for _, time_us, text in lines[:STORY_LINES]]
    return reported if len(lines) <= STORY_LINES else [*reported, f"and {len(lines) - STORY_LINES} more"]


def file_of(name: str) -> Path:
    """Where the golden file of a scenario lies."""
    shelves = shelved_scenario_names().items()
    return FOLDER / next((shelf for shelf, names in shelves if name in names), f"lessons/{name[0]}x") / f"{name}.json"


def main(names: list[str]) -> None:
    for name in names or scenario_names():
        file_of(name).parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(play(name), indent=1, ensure_ascii=False)
        file_of(name).write_text(f"{text}\n", encoding="utf-8")
        print(f"wrote {file_of(name)}")


if __name__ == "__main__":
    main(sys.argv[1:])
