"""What each step of a client means, for people: its name in Chinese, and why a stall or a crash just before it matters.

Each step that ordered and concurrent consumption, transactions and the bank pass has a line here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class StepText(NamedTuple):
    """One label.

    ``zh``: the label in Chinese. ``why``: why standing still just there matters. ``crash``: why dying there does;
    empty: there is nothing to add.
    """

    zh: str
    why_en: str
    why_zh: str
    crash_en: str = ""
    crash_zh: str = ""


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

_NOBODY_BOUND = (
    "Nobody has promised anything yet.",
    "还没有人作出承诺。",
    "Nobody has promised anything: it ends with a rollback.",
    "还没有人作出承诺：以回滚告终。",
)
_ORDER = (
    "Who has voted waits, with the account locked, until the order comes.",
    "投过票的分支锁着账户，等待命令。",
    "The decision stands; who has not heard of it waits, with the account locked.",
    "决定已经作出；还没有得知的分支锁着账户等待。",
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
        "The messages are consumed, the progress does not say so: they will come again.",
        "消息已经消费，进度却没有更新：它们还会再来。",
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
    "checks whether the queue was dropped after consuming": StepText(
        "检查队列是否已被放弃（消费后）",
        *_IN_HAND,
        "The listener has done its work, nobody knows of it: the messages will come again.",
        "监听器已做完工作，却没有人知道：消息还会再来。",
    ),
    "removes consumed messages": StepText(
        "移除已消费的消息",
        *_IN_HAND,
        "The listener has done its work, nobody knows of it: the messages will come again.",
        "监听器已做完工作，却没有人知道：消息还会再来。",
    ),
    "looks for expired messages": StepText("查找超时的消息", *_IN_HAND),
    "removes an expired message": StepText("移除一条超时的消息", *_IN_HAND),
    "executes the local transaction": StepText(
        "执行本地事务",
        "The half message is stored, and no consumer sees it until the broker hears how the local transaction ended.",
        "半消息已经存储；在 Broker 得知本地事务的结果之前，没有消费者能看到它。",
        "The half message is stored, the local transaction was never begun: the broker will ask, and roll back.",
        "半消息已经存储，本地事务还没有开始：Broker 会回查，然后回滚。",
    ),
    "ends the transaction": StepText(
        "结束事务",
        "The local transaction has ended, the broker does not know how: it may ask meanwhile.",
        "本地事务已经结束，Broker 还不知道结果：这期间它可能来回查。",
        "The local transaction has ended, the broker never hears how: it will ask the group.",
        "本地事务已经结束，Broker 却没有得到结果：它会回查生产者组。",
    ),
    "checks the local transaction": StepText(
        "回查本地事务",
        "The broker's question waits; it will ask again.",
        "Broker 的回查在等待；它还会再问。",
        "The broker gets no answer and will ask again, another member of the group if need be.",
        "Broker 得不到回答，会再次询问，必要时问同组的另一个成员。",
    ),
    "acquires lock bank database": StepText(
        "获取银行数据库的锁",
        "Nothing is written yet; meanwhile others act on what was promised.",
        "还什么都没写入；其间别人按已承诺的内容行动。",
        "Nothing is written, and the next process knows nothing of it.",
        "什么都没写入，下一个进程对此一无所知。",
    ),
    "debits the account": StepText(
        "从账户扣款",
        "The local transaction is open, nothing is debited; meanwhile others act on what was promised.",
        "本地事务已开始，还没有扣款；其间别人按已承诺的内容行动。",
        "The local transaction is open and vanishes with the process: nothing is debited.",
        "本地事务已开始，随进程一起消失：没有扣款。",
    ),
    "commits the local transaction": StepText(
        "提交本地事务",
        "The debit is written but not committed: nobody else sees it, and the account is locked.",
        "扣款已写入但未提交：别人看不到，账户被锁住。",
        "The debit is written but not committed: the database rolls it back.",
        "扣款已写入但未提交：数据库将其回滚。",
    ),
    "asks for the credit": StepText(
        "请求对方入账",
        "The debit is committed, the message is not sent.",
        "扣款已提交，消息还没有发送。",
        "The debit is committed, the message is never sent: the money is gone.",
        "扣款已提交，消息却永远不会发送：钱不见了。",
    ),
    "looks the local transaction up": StepText(
        "查询本地事务",
        "The broker's question waits; it will ask again.",
        "Broker 的回查在等待；它还会再问。",
        "The broker gets no answer and will ask again.",
        "Broker 得不到回答，会再次询问。",
    ),
    "credits the account": StepText(
        "给账户入账",
        "The message is in its hand; the other bank has done its part, or so it believes.",
        "消息已在它手里；它以为对方银行已经完成了自己的部分。",
        "The credit was not made: the message will come again.",
        "没有入账：消息还会再来。",
    ),
    "commits the credit": StepText(
        "提交入账",
        "The credit is written but not committed: nobody else sees it.",
        "入账已写入但未提交：别人看不到。",
        "The credit is written but not committed: the database rolls it back, and the message will come again.",
        "入账已写入但未提交：数据库将其回滚，消息还会再来。",
    ),
    # --- two-phase commit
    "begins the global transaction": StepText("开始全局事务", *_NOBODY_BOUND),
    "enlists a resource manager": StepText("让资源管理器加入", *_NOBODY_BOUND),
    "registers the branch": StepText("注册分支", *_NOBODY_BOUND),
    "asks for the votes": StepText("要求表决", *_NOBODY_BOUND),
    "asks for a vote": StepText(
        "要求一个分支表决",
        "Branches that have voted yes wait, with their accounts locked.",
        "已投赞成票的分支在等待，它们的账户被锁住。",
        "Branches that have voted yes are in doubt: locked until the coordinator is back.",
        "已投赞成票的分支悬而未决：在协调者恢复之前一直锁住。",
    ),
    "waits for the lock on the account": StepText(
        "等待账户的锁",
        "The others wait for its vote.",
        "其他人在等它的一票。",
        "It has not voted: rollback.",
        "它还没有投票：回滚。",
    ),
    "writes down what it will post": StepText(
        "记下将要入账的内容",
        "The account is locked, the vote is not given.",
        "账户已锁住，还没有投票。",
        "Nothing is promised yet: rollback.",
        "还没有作出承诺：回滚。",
    ),
    "makes the decision durable": StepText(
        "持久化决定",
        "All have voted yes and wait for a decision that nobody can hear of yet.",
        "所有分支都投了赞成票，在等待一个还没有人能得知的决定。",
        "All have voted yes, and the decision is not on the disk: all stay locked until the coordinator is back.",
        "所有分支都投了赞成票，决定却没有落盘：协调者恢复之前谁都动不了。",
    ),
    "orders the commit": StepText("下令提交", *_ORDER),
    "orders the rollback": StepText("下令回滚", *_ORDER),
    "orders the commit of a branch": StepText("下令分支提交", *_ORDER),
    "orders the rollback of a branch": StepText("下令分支回滚", *_ORDER),
    "asks for the decision": StepText(
        "询问决定",
        "The branch stays in doubt, its account locked.",
        "分支仍悬而未决，账户被锁住。",
        "The promise is on the disk: the next process asks again.",
        "承诺已落盘：下一个进程会再问。",
    ),
}
