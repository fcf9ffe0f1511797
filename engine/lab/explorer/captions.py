"""Captions of stalls and lost frames: what each does and why it matters.

Each step of the engine has a line in :data:`~engine.lab.explorer.step_texts.STEPS`. What happened while the actor was
paused, or the process was dead, is read from the run itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from engine.faults.frame_subject import REPLY
from engine.lab.explorer.lost_frames import LOST_FRAMES
from engine.lab.explorer.stall import FOR_EVER_MS, Stall, StallKind
from engine.lab.explorer.step_texts import STEPS
from engine.lab.narration.narrator import BANK_ACTIONS, MILESTONES
from engine.texts import Text, joined, plain

if TYPE_CHECKING:
    from engine.lab.run.run import LabRun

#: A sentence by language.
Texts = Mapping[str, str]

#: Most events during a stall that are reported.
MEANWHILE_MAX = 8

#: Kinds of stalls whose consequences last to the end.
_ENDLESS = (StallKind.CRASH, StallKind.LOSS)
#: Irrelevant on the paused node: it takes over its retry queues at that time.
_GAINS = ("adds the process queue",)


def step_name(label: str) -> Texts:
    """Return a step's label by language."""
    return Text(f"label.{label}") if label in STEPS else plain(label)


def caption_of(stall: Stall) -> Texts:
    """Return who pauses or dies, where and for how long, or which frame is lost; and why that matters."""
    action, text = _action(stall), STEPS.get(stall.point.label)
    if stall.kind is StallKind.LOSS:
        loss = LOST_FRAMES.get(stall.point.label)
        return action if loss is None else Text("caption.why", action=action, why=Text(f"loss.{loss}"))
    if text is None or (stall.kind is StallKind.CRASH and not text.crash):
        return action
    why = Text(f"crash.{text.crash}" if stall.kind is StallKind.CRASH else f"stall.{text.stall}")
    return Text("caption.why", action=action, why=why)


def _action(stall: Stall) -> Text:
    who, node = stall.point.actor, stall.point.node
    name, duration = step_name(stall.point.label), _duration(stall.ms)
    match stall.kind:
        case StallKind.HOLD:
            return Text("caption.hold", who=who, duration=duration, name=name)
        case StallKind.PAUSE:
            return Text("caption.pause", node=node, duration=duration, who=who, name=name)
        case StallKind.CRASH:
            again = Text("caption.again", duration=duration)
            if stall.ms == FOR_EVER_MS:
                again = Text("caption.never_again")
            return Text("caption.crash", node=node, who=who, name=name, again=again)
        case StallKind.LOSS:
            source, _, target = who.partition("->")
            request = stall.point.label.removeprefix(f"{REPLY} to ")
            key = "caption.lost" if request == stall.point.label else "caption.lost_reply"
            return Text(key, source=source, target=target, name=request)


def _duration(ms: int) -> str:
    return f"{ms} ms" if ms < 1_000 else f"{ms / 1_000:g} s"


def meanwhile(run: LabRun, stall: Stall, begin_us: int) -> Texts:
    """Return what the others did during the stall, in a few words; empty if there is nothing worth reporting.

    After a crash or a loss: what happened from then on, up to the present position of ``run``, as neither ends.
    """
    reported: list[Text] = []
    for text in _happened(run, stall, begin_us):
        if text not in reported and len(reported) < MEANWHILE_MAX:
            reported.append(text)
    if not reported:
        return plain("")
    happened = joined("words.comma", reported)
    if stall.kind in _ENDLESS:
        return Text("caption.afterwards", happened=happened)
    return Text("caption.meanwhile", happened=happened)


def _happened(run: LabRun, stall: Stall, begin_us: int) -> Iterator[Text]:
    """Yield the events in the order of time."""
    end_us = run.now_us if stall.kind in _ENDLESS else begin_us + stall.ms * 1_000
    history = run.world.history
    found: list[tuple[int, Text]] = []
    for entry in run.world.journal.entries:
        milestone = MILESTONES.get(entry.label)
        is_own_gain = entry.label in _GAINS and entry.actor.startswith(f"{stall.point.node}/")
        if milestone is not None and not is_own_gain and begin_us <= entry.time_us <= end_us:
            found.append((entry.number, Text(milestone, actor=entry.actor)))
    found += [
        (began.event, Text("caption.begins", entry=began))
        for began in history.consumes_began
        if begin_us <= began.time_us <= end_us
    ]
    found += [
        (ended.event, Text("caption.ends", entry=ended))
        for ended in history.consumes_ended
        if begin_us <= ended.time_us <= end_us
    ]
    for action in history.bank_entries:
        key = BANK_ACTIONS.get((action.doing, action.outcome))
        if key is not None and begin_us <= action.time_us <= end_us:
            found.append((action.event, Text(key, entry=action)))
    found.sort(key=lambda one: one[0])
    for _, text in found:
        yield text
