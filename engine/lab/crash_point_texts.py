"""What has just happened at a crash point, for people."""

from __future__ import annotations

from collections.abc import Mapping

Texts = Mapping[str, str]


def _texts(en: str, zh: str) -> Texts:
    return {"en": en, "zh": zh}


#: Name of a step (see :mod:`engine.lab.crash_points`) -> texts.
POINT_TEXTS: Mapping[str, Texts] = {
    # two-phase commit
    "begins the global transaction": _texts("asks TC to begin", "请求 TC 开启全局事务"),
    "enlists a resource manager": _texts("asks a bank to take part", "请一家银行参加"),
    "asks for the votes": _texts("asks TC to collect the votes", "请 TC 收集投票"),
    "orders the commit": _texts("orders Global Commit", "发出 Global Commit"),
    "orders the rollback": _texts("orders Global Rollback", "发出 Global Rollback"),
    "asks for a vote": _texts("asks a bank to prepare", "要求一家银行预执行"),
    "orders the commit of a branch": _texts("orders Branch Commit", "发出 Branch Commit"),
    "global active": _texts("has begun the global transaction", "已开启全局事务"),
    "global voting": _texts("begins to collect votes", "开始收集投票"),
    "global prepared": _texts("has all votes: yes", "已收齐赞成票"),
    "global refused": _texts("has heard a no", "收到了反对票"),
    "global committing": _texts("has written the decision, not flushed yet", "已写下决定，尚未刷盘"),
    "global committed": _texts("has all acknowledgements", "已收齐确认"),
    "global rolling-back": _texts("has decided to roll back", "已决定回滚"),
    "global rolled-back": _texts("has all acknowledgements", "已收齐确认"),
    "branch enlisted": _texts("has registered its branch", "已注册分支事务"),
    "branch executing": _texts("has locked the account and works", "已锁定账户，正在预执行"),
    "branch prepared": _texts("has promised and votes yes", "已写下承诺并投赞成票"),
    "branch committed": _texts("has committed its branch", "已提交分支"),
    "branch rolled-back": _texts("has rolled its branch back", "已回滚分支"),
    # transactional message
    "begins to send": _texts("begins to send the half message", "开始发送半消息"),
    "stores the half message": _texts("has stored the half message", "已存储半消息"),
    "debits the account": _texts("has debited A, not committed", "已扣款，尚未提交"),
    "commits the local transaction": _texts("has committed the debit", "已提交扣款"),
    "ends the transaction": _texts("has sent END_TRANSACTION", "已发出 END_TRANSACTION"),
    "makes the message visible": _texts("has made the message visible", "已让消息可见"),
    "credits the account": _texts("has credited B, not committed", "已入账，尚未提交"),
    "commits the credit": _texts("has committed the credit", "已提交入账"),
    "updates the offset": _texts("has updated its offset", "已更新消费进度"),
}
