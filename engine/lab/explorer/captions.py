"""What a stall does and why it matters, for people.

Each step of the engine has a line in :data:`~engine.lab.explorer.step_texts.STEPS`. What happened while the actor stood
still, or the process was dead, is read from the run itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from engine.lab.explorer.stall import FOR_EVER_MS, Stall, StallKind
from engine.lab.explorer.step_texts import STEPS

if TYPE_CHECKING:
    from engine.lab.run import LabRun

#: A text per language.
Texts = Mapping[str, str]

#: Things that happened during a stall and are told, at most.
MEANWHILE_MAX = 8


#: Steps of other actors that are told when they happen during a stall, with what to say.
_MILESTONES: Mapping[str, tuple[str, str]] = {
    "marks the process queue dropped": ("{actor} gives the queue up", "{actor} 放弃队列"),
    "unlocks the queue at the broker": ("{actor} unlocks it at the broker", "{actor} 在 Broker 上解锁"),
    "adds the process queue": ("{actor} takes a queue over", "{actor} 接管队列"),
}

#: (doing, outcome) of a bank's deed -> what to say about it.
_BANK_DEEDS: Mapping[tuple[str, str], tuple[str, str]] = {
    ("debit", "committed"): (
        "{entry.bank} has debited {entry.account} with {entry.amount} ({entry.key})",
        "{entry.bank} 已从 {entry.account} 扣款 {entry.amount}（{entry.key}）",
    ),
    ("credit", "committed"): (
        "{entry.bank} has credited {entry.account} with {entry.amount} ({entry.key})",
        "{entry.bank} 已给 {entry.account} 入账 {entry.amount}（{entry.key}）",
    ),
    ("credit", "duplicate"): ("{entry.bank} ignores {entry.key}, which it has", "{entry.bank} 忽略重复的 {entry.key}"),
    ("check", "commit"): ("{entry.node} answers commit for {entry.key}", "{entry.node} 对 {entry.key} 回答提交"),
    ("check", "rollback"): ("{entry.node} answers rollback for {entry.key}", "{entry.node} 对 {entry.key} 回答回滚"),
}

#: Of no interest on the node that stands still: it takes over its retry queues at that time.
_GAINS = ("adds the process queue",)


def step_name(label: str) -> Texts:
    """A step's label in both languages."""
    text = STEPS.get(label)
    return {"en": label, "zh": text.zh if text is not None else label}


def caption_of(stall: Stall) -> Texts:
    """Who stands still or dies, where, for how long, and why that matters."""
    deed = _deed(stall)
    text = STEPS.get(stall.point.label)
    if text is None:
        return deed
    if stall.kind is StallKind.CRASH:
        return {"en": f"{deed['en']} {text.crash_en}".strip(), "zh": f"{deed['zh']}{text.crash_zh}"}
    return {"en": f"{deed['en']} {text.why_en}", "zh": f"{deed['zh']}{text.why_zh}"}


def _deed(stall: Stall) -> Texts:
    who, node = stall.point.actor, stall.point.node
    name, duration = step_name(stall.point.label), _duration(stall.ms)
    match stall.kind:
        case StallKind.HOLD:
            return {
                "en": f"{who} stands still for {duration}, just before it «{name['en']}».",
                "zh": f"{who} 停顿 {duration}，就在「{name['zh']}」之前。",
            }
        case StallKind.PAUSE:
            return {
                "en": f"The whole process {node} stands still for {duration}, just before {who} «{name['en']}».",
                "zh": f"整个进程 {node} 停顿 {duration}，就在 {who}「{name['zh']}」之前。",
            }
        case StallKind.CRASH:
            again = _NEVER_AGAIN if stall.ms == FOR_EVER_MS else _AGAIN
            return {
                "en": f"{node} dies here, just before {who} «{name['en']}»{again['en'].format(duration)}.",
                "zh": f"{node} 在这里被杀死，就在 {who}「{name['zh']}」之前{again['zh'].format(duration)}。",
            }


_AGAIN: Texts = {"en": ", and starts again {} later", "zh": "，{} 后重新启动"}
_NEVER_AGAIN: Texts = {"en": ", and never starts again", "zh": "，再也没有启动"}


def _duration(ms: int) -> str:
    return f"{ms} ms" if ms < 1_000 else f"{ms / 1_000:g} s"


def meanwhile(run: LabRun, stall: Stall, begin_us: int) -> Texts:
    """What the others did while it stood still, in a few words; empty when they did nothing worth telling.

    After a crash: what happened from then on, up to where ``run`` is; the next process knows nothing of the work.
    """
    told_en: list[str] = []
    told_zh: list[str] = []
    for en, zh in _happened(run, stall, begin_us):
        if en not in told_en and len(told_en) < MEANWHILE_MAX:
            told_en.append(en)
            told_zh.append(zh)
    if not told_en:
        return {"en": "", "zh": ""}
    begin = _AFTERWARDS if stall.kind is StallKind.CRASH else _MEANWHILE
    return {"en": f"{begin['en']} {', '.join(told_en)}.", "zh": f"{begin['zh']} {'，'.join(told_zh)}。"}


_MEANWHILE: Texts = {"en": "Meanwhile", "zh": "其间"}
_AFTERWARDS: Texts = {"en": "Afterwards", "zh": "此后"}


def _happened(run: LabRun, stall: Stall, begin_us: int) -> Iterator[tuple[str, str]]:
    """In the order of time."""
    end_us = run.now_us if stall.kind is StallKind.CRASH else begin_us + stall.ms * 1_000
    history = run.world.history
    found: list[tuple[int, str, str]] = []
    for entry in run.world.lab.journal.entries:
        texts = _MILESTONES.get(entry.label)
        is_own_gain = entry.label in _GAINS and entry.actor.startswith(f"{stall.point.node}/")
        if texts is not None and not is_own_gain and begin_us <= entry.time_us <= end_us:
            found.append((entry.number, texts[0].format(actor=entry.actor), texts[1].format(actor=entry.actor)))
    found += [
        (began.event, f"{began.node} begins {began.key}", f"{began.node} 开始消费 {began.key}")
        for began in history.consumes_began
        if begin_us <= began.time_us <= end_us
    ]
    found += [
        (ended.event, f"{ended.node} ends {ended.key}", f"{ended.node} 结束 {ended.key}")
        for ended in history.consumes_ended
        if begin_us <= ended.time_us <= end_us
    ]
    for deed in history.bank_entries:
        texts = _BANK_DEEDS.get((deed.doing, deed.outcome))
        if texts is not None and begin_us <= deed.time_us <= end_us:
            found.append((deed.event, texts[0].format(entry=deed), texts[1].format(entry=deed)))
    found.sort(key=lambda one: one[0])
    for _, en, zh in found:
        yield en, zh
