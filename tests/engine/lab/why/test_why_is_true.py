"""Whatever somebody does to a scenario: what the answers claim is so, by what the clients saw and by the journal."""

import random

import pytest

from engine.lab.kafka.kafka_broker_node import KafkaBrokerNode
from engine.lab.kafka.kafka_consumer_node import KafkaConsumerNode
from engine.lab.kafka.kafka_producer_node import KafkaProducerNode
from engine.lab.raft.raft_client_node import RaftClientNode
from engine.lab.raft.raft_peer_node import RaftPeerNode
from engine.lab.run.run import LabRun
from engine.lab.scenario.command import parse_command
from engine.lab.scenario.errors import LabError
from engine.lab.scenario.scenario_files import load_scenario, preset_scenario_names
from engine.lab.why.answer import WhyQuestion
from engine.lab.why.why_run import WhyRun
from engine.lab.witness.deliveries import DONE

FRAMES = (
    "SEND_MESSAGE_V2",
    "reply to SEND_MESSAGE_V2",
    "UPDATE_CONSUMER_OFFSET",
    "CONSUMER_SEND_MSG_BACK",
    "reply to CONSUMER_SEND_MSG_BACK",
    "reply to PULL_MESSAGE",
    "reply to LOCK_BATCH_MQ",
    "END_TRANSACTION",
)
#: Who died, by the cause that says so.
DEAD = {
    "died-before-commit": "first",
    "died-in-listener": "first",
    "commit-lost-and-died": "first",
    "early-ack": "node",
    "broker-died": "broker",
    "locks-forgotten": "broker",
    "offset-lost": "broker",
}
#: What somebody must have done, by the cause that says so.
ACTIONS = {
    "power-cut": ("crash-power", "torn-write"),
    "offset-again": ("crash-power", "torn-write"),
    "stood-still": ("pause-node",),
    "paused": ("pause-node",),
    "forced-unlock": ("forced-unlock",),
}
#: Causes that tell of one consumer after another.
MOVED = ("moved-before-commit", "moved-while-running", "kept-queue", "unlocked-early", "lease-expired", "two-owners")


def actions_of(world, chance):
    """Two random actions, and what undoes them: (milliseconds, command)."""
    servers = (*world.roles(KafkaBrokerNode), *world.roles(RaftPeerNode))
    others = (*servers, *world.roles(KafkaProducerNode), *world.roles(KafkaConsumerNode), *world.roles(RaftClientNode))
    nodes = [role.name for role in (*world.consumers(), *world.brokers(), *world.producers(), *others)]
    brokers = [role.name for role in (*world.brokers(), *servers)]
    for _ in range(2):
        node, at_ms = chance.choice(nodes), chance.randrange(300, min(world.end_us // 2_000, 60_000))
        broken, mended = chance.choice(
            [
                ({"kind": "crash", "target": node}, {"kind": "restart", "target": node}),
                ({"kind": "crash-power", "target": brokers[0]}, {"kind": "restart", "target": brokers[0]}),
                ({"kind": "partition", "left": [node], "right": [chance.choice(brokers)]}, {"kind": "heal"}),
                ({"kind": "pause-node", "target": node}, {"kind": "resume-node", "target": node}),
                ({"kind": "drop-next", "target": "", "frame": chance.choice(FRAMES)}, None),
                ({"kind": "lock-switch", "target": "", "lock": "broker-lock", "on": False}, None),
            ]
        )
        yield at_ms, broken
        if mended:
            yield at_ms + chance.choice([300, 8_000, 65_000]), mended


def broken_run(name, seed):
    """A run to which that was done, stopped at its end, or with an odd seed somewhere on the way."""
    chance = random.Random(f"{name} {seed}")
    run = LabRun(load_scenario(name), check=False)
    for at_ms, command in sorted(actions_of(run.world, chance), key=lambda action: action[0]):
        run.run_to_time(at_ms * 1_000)
        try:
            run.apply(parse_command(command))
        except LabError:
            continue  # It does not run any more, or runs again already.
    run.run_to_time(run.now_us + chance.randrange(30_000_000) if seed % 2 else run.world.end_us)
    return run


def check_claims(run, seed):
    recording, history = run.recording(), run.world.history
    sent = list(dict.fromkeys(entry.key for entry in history.sends_invoked))
    done = {entry.key for entry in history.consumes_ended if entry.result in DONE}
    began = [entry.key for entry in history.consumes_began]
    odd = [key for key in sent if key not in done or began.count(key) > 1]
    keys = list(dict.fromkeys((*odd[:6], *random.Random(seed).sample(sent, min(len(sent), 4)))))
    with WhyRun(recording, keys) as asked:
        for why in asked.advance(lambda: False):
            for answer in why.answers:
                check_steps(answer, recording.event, asked.evidence.run.world.journal.entries)
                check_question(answer, why.key, recording.event, history, asked.evidence.history)
                check_cause(answer, history)


def check_steps(answer, now, journal):
    if answer.question is not WhyQuestion.LATE:
        assert [step.event for step in answer.steps] == sorted(step.event for step in answer.steps), answer
        times = [step.time_us for step in answer.steps if step.event]
        assert times == sorted(times), answer
    for step in answer.steps:
        assert step.is_ahead is (step.event > now), (answer, step)
        place = step.event - journal[0].number
        if step.kind in ("message", "listener", "offset", "lock") and place >= 0:
            actor = journal[place].actor
            assert step.node in (actor.partition("/")[0], actor.partition("->")[2].partition("#")[0]), (step, actor)


def check_question(answer, key, now, history, ahead):
    """Against what clients saw, up to now and in the look ahead."""
    group, _, node = answer.group.partition("/")

    def of(entries):
        return [one for one in entries if (one.key, one.group) == (key, group) and node in ("", one.node)]

    is_done = any(entry.result in DONE for entry in of(history.consumes_ended))
    to_come = [entry for entry in of(ahead.consumes_began) if entry.event > now]
    match answer.question:
        case WhyQuestion.TWICE:
            assert len(of(history.consumes_began)) > 1, answer
            had = {entry.node for entry in of(history.consumes_began)}
            first, second = answer.verdict.arguments["first"], answer.verdict.arguments["second"]
            assert {first, second} <= had, answer
            assert first != second or answer.cause not in MOVED, answer
            assert answer.cause != "unknown", answer
        case WhyQuestion.LATE:
            assert is_done, answer
        case WhyQuestion.LOST:
            assert not is_done, answer
            assert not to_come, answer
        case WhyQuestion.NOT_YET:
            assert not is_done, answer
            comes = answer.verdict.arguments["comes"]
            if comes.key == "why.not_yet.comes":
                promised = comes.arguments["time"]["en"], comes.arguments["node"]
                assert promised in [(f"{one.time_us / 1_000_000:.3f} s", one.node) for one in to_come], answer
            elif comes.key == "why.not_yet.ends":
                ends = [one for one in of(ahead.consumes_ended) if one.event > now and one.result in DONE]
                assert comes.arguments["time"]["en"] in [f"{one.time_us / 1_000_000:.3f} s" for one in ends], answer
            else:
                assert not to_come, answer


def check_cause(answer, history):
    dead = {change.node for change in history.nodes_changed if change.status == "crashed"}
    if answer.cause in DEAD:
        assert answer.verdict.arguments[DEAD[answer.cause]] in dead, answer
    if answer.cause in ACTIONS:
        assert {entry.command.kind for entry in history.commands} & {*ACTIONS[answer.cause]}, answer


@pytest.mark.parametrize("name", ["general", "three-locks", "subscription-mismatch", "early-ack-loses"])
@pytest.mark.parametrize("seed", [1, 2])
def test_what_is_answered_is_so(name, seed):
    run = broken_run(name, seed)
    check_claims(run, seed)
    run.close()


@pytest.mark.thorough
@pytest.mark.parametrize("name", preset_scenario_names())
@pytest.mark.parametrize("seed", range(4))
def test_what_is_answered_of_any_scenario_is_so(name, seed):
    run = broken_run(name, seed)
    check_claims(run, seed)
    run.close()
