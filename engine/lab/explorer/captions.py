"""What a stall does and why it matters, for people.

Each step of the engine that ordered consumption passes has a line in :data:`STEPS`. What happened while the actor stood
still is read from the run itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from engine.lab.explorer.stall import Stall

if TYPE_CHECKING:
    from engine.lab.run import LabRun

#: A text per language.
Texts = Mapping[str, str]

#: Things that happened during a stall and are told, at most.
MEANWHILE_MAX = 8


class StepText(NamedTuple):
    """One label. ``zh``: the label in Chinese. ``why``: why standing still just there matters."""

    zh: str
    why_en: str
    why_zh: str


_HAS_CHECKED = (
    "It believes what it last looked at; nobody tells it when that stops being true.",
    "它相信刚才看到的状态；状态变了没有人通知它。",
)
_IN_HAND = (
    "The messages are in its hand already: whoever gets the queue now does not see them there.",
    "消息已经在它手里：此刻得到该队列的一方看不到这一点。",
)
_GIVING_UP = (
    "The queue is between two owners: one has not let go, the other may already ask for it.",
    "队列正处在两个拥有者之间：一方还没有放手，另一方可能已经来要。",
)

#: Label of a step -> what to say about it.
STEPS: Mapping[str, StepText] = {
    "checks whether the queue was dropped before consuming": StepText(
        "检查队列是否已被放弃（消费前）",
        "A consume request is under way, but no lock is held yet.",
        "消费请求已经开始处理，但还没有持有任何锁。",
    ),
    "acquires lock message queue lock": StepText(
        "获取 MessageQueue 本地锁",
        "The local lock is what keeps a second worker of the process away from the queue.",
        "本地锁阻止同一进程的另一个线程处理这个队列。",
    ),
    "checks the broker lock": StepText("检查 Broker 锁", *_HAS_CHECKED),
    "checks whether to go on with the queue": StepText("检查是否继续处理该队列", *_HAS_CHECKED),
    "takes messages": StepText(
        "取出消息",
        "All checks are behind it; the next messages of the tree will be its own.",
        "所有检查都已通过；树里接下来的消息将归它。",
    ),
    "acquires lock process queue consume lock": StepText(
        "获取 ProcessQueue 消费锁",
        "The messages are taken out, but the consume lock, which a rebalance waits for, is not held.",
        "消息已经取出，但重平衡要等待的消费锁还没有持有。",
    ),
    "checks whether the queue was dropped under the consume lock": StepText(
        "持有消费锁时检查队列是否已被放弃",
        "With the consume lock on, nobody can give the queue away now; without it, this check is all there is.",
        "消费锁开启时此刻没有人能交出队列；没有它，这次检查就是全部保护。",
    ),
    "calls the listener": StepText(
        "调用监听器",
        "The last check is behind it: whatever becomes of the queue now, the listener will be called.",
        "最后一次检查已过：无论队列之后怎样，监听器都会被调用。",
    ),
    "commits consumed messages": StepText("提交已消费的消息", *_IN_HAND),
    "updates the offset": StepText(
        "更新消费进度",
        "The messages are consumed, but the progress does not say so yet: the next owner would begin with them again.",
        "消息已经消费，但进度还没有更新：下一个拥有者会从它们重新开始。",
    ),
    "marks the process queue dropped": StepText("把 ProcessQueue 标记为已放弃", *_GIVING_UP),
    "reads the offset to persist": StepText("读取要保存的进度", *_GIVING_UP),
    "looks for cached messages before unlocking": StepText("解锁前查看是否还有缓存消息", *_GIVING_UP),
    "unlocks the queue at the broker": StepText("在 Broker 上解锁队列", *_GIVING_UP),
    "removes the process queue": StepText("移除 ProcessQueue", *_GIVING_UP),
    "locks the queue at the broker": StepText("在 Broker 上锁定队列", *_GIVING_UP),
    "notes the broker's answer in the process queues": StepText("把 Broker 的答复记入 ProcessQueue", *_HAS_CHECKED),
    "adds the process queue": StepText("加入 ProcessQueue", *_GIVING_UP),
    "raises the version of the subscription": StepText(
        "提高订阅的版本号", "The other members learn later who is here.", "其他成员更晚才知道谁在这里。"
    ),
    "takes a pull request": StepText("取出拉取请求", "Nobody pulls the queue meanwhile.", "这段时间没有人拉取该队列。"),
    "checks whether the queue was dropped before pulling": StepText("检查队列是否已被放弃（拉取前）", *_HAS_CHECKED),
    "reads the offset to commit with the pull": StepText("读取随拉取提交的进度", *_HAS_CHECKED),
    "puts messages into the process queue": StepText(
        "把消息放入 ProcessQueue",
        "Pulled messages arrive late: the queue may have another owner, or a second consume request.",
        "拉到的消息晚到：队列可能已换了拥有者，或有了第二个消费请求。",
    ),
    "reads which queues to lock": StepText(
        "读取要续期的队列", "Locks are not renewed meanwhile; leases go on running.", "这段时间锁不续期，租约照样流逝。"
    ),
    "checks whether messages wait": StepText("检查是否有消息在等待", *_HAS_CHECKED),
    "checks whether the queue is ours again": StepText("检查队列是否又归自己（延迟解锁前）", *_GIVING_UP),
    "checks whether the queue was dropped before locking": StepText("检查队列是否已被放弃（加锁前）", *_HAS_CHECKED),
    "puts failed messages back": StepText("把失败的消息放回", *_IN_HAND),
    "puts the messages in hand back": StepText("把手里的消息放回", *_IN_HAND),
    "reads which queues to unlock": StepText("读取要解锁的队列", *_GIVING_UP),
}

#: Steps of other actors that are told when they happen during a stall, with what to say.
_MILESTONES: Mapping[str, tuple[str, str]] = {
    "marks the process queue dropped": ("{actor} gives the queue up", "{actor} 放弃队列"),
    "unlocks the queue at the broker": ("{actor} unlocks it at the broker", "{actor} 在 Broker 上解锁"),
    "adds the process queue": ("{actor} takes a queue over", "{actor} 接管队列"),
}

#: Of no interest on the node that stands still: it takes over its retry queues at that time.
_GAINS = ("adds the process queue",)


def step_name(label: str) -> Texts:
    """A step's label in both languages."""
    text = STEPS.get(label)
    return {"en": label, "zh": text.zh if text is not None else label}


def caption_of(stall: Stall) -> Texts:
    """Who stands still, where, for how long, and why that matters."""
    who, label = stall.point.actor, stall.point.label
    name = step_name(label)
    if stall.whole_node:
        node = stall.point.node
        en = f"The whole process {node} stands still for {_duration(stall.ms)}, just before {who} «{name['en']}»."
        zh = f"整个进程 {node} 停顿 {_duration(stall.ms)}，就在 {who}「{name['zh']}」之前。"
    else:
        en = f"{who} stands still for {_duration(stall.ms)}, just before it «{name['en']}»."
        zh = f"{who} 停顿 {_duration(stall.ms)}，就在「{name['zh']}」之前。"
    text = STEPS.get(label)
    if text is None:
        return {"en": en, "zh": zh}
    return {"en": f"{en} {text.why_en}", "zh": f"{zh}{text.why_zh}"}


def _duration(ms: int) -> str:
    return f"{ms} ms" if ms < 1_000 else f"{ms / 1_000:g} s"


def meanwhile(run: LabRun, stall: Stall, begin_us: int) -> Texts:
    """What the others did while it stood still, in a few words; empty when they did nothing worth telling."""
    told_en: list[str] = []
    told_zh: list[str] = []
    for en, zh in _happened(run, stall, begin_us):
        if en not in told_en and len(told_en) < MEANWHILE_MAX:
            told_en.append(en)
            told_zh.append(zh)
    if not told_en:
        return {"en": "", "zh": ""}
    return {"en": f"Meanwhile {', '.join(told_en)}.", "zh": f"其间 {'，'.join(told_zh)}。"}


def _happened(run: LabRun, stall: Stall, begin_us: int) -> Iterator[tuple[str, str]]:
    """In the order of time."""
    end_us = begin_us + stall.ms * 1_000
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
    found.sort(key=lambda one: one[0])
    for _, en, zh in found:
        yield en, zh
