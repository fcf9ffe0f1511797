"""What events and tasks of a world are called in Chinese.

The engine names them in English, and a journal keeps those names; the page puts these in their place. The steps of
clients have theirs in :mod:`engine.lab.explorer.step_texts`, commands in :mod:`engine.lab.command`.
"""

from __future__ import annotations

from collections.abc import Mapping

from engine.lab.explorer.step_texts import STEPS

#: What happens to a task or a connection.
_EVENTS: Mapping[str, str] = {
    "connection closes": "连接关闭",
    "connection lost": "连接断开",
    "connection opens": "连接建立",
    "connection refused": "连接被拒绝",
    "connection request arrives": "连接请求到达",
    "connection reset": "连接被重置",
    "frame arrives": "帧到达",
    "goes on": "继续",
    "starts": "开始",
    "timer": "定时器到期",
}

#: Tasks; a name that ends with a space is followed by what the task is about.
_TASKS: Mapping[str, str] = {
    "asks about branches in doubt": "询问悬而未决的分支",
    "async send": "异步发送",
    "boot": "启动",
    "cash machine": "取款机",
    "clean-files": "清理过期文件",
    "delay level ": "延迟级别 ",
    "expired message cleaner": "清理消费超时的消息",
    "flush-commit-log": "CommitLog 刷盘",
    "flush-commit-log-timer": "CommitLog 刷盘定时",
    "flush-consume-queues": "ConsumeQueue 刷盘",
    "heartbeat": "心跳",
    "hold service": "检查挂起的拉取请求",
    "lock renewal": "续锁",
    "missing route poller": "查询缺失的路由",
    "offset persister": "上报消费位点",
    "persist delay offsets": "保存延迟位点",
    "persist filters": "保存过滤表达式",
    "write ": "写入配置表 ",
    "persist offsets": "保存消费位点",
    "pull ": "拉取 ",
    "rebalance service": "重平衡",
    "register": "向 NameServer 注册",
    "reput": "分发（reput）",
    "request": "请求",
    "request scan": "扫描超时的请求",
    "route of ": "查询路由 ",
    "route poller": "刷新路由",
    "sample groups": "统计消费组",
    "scan brokers": "扫描 Broker",
    "scan channels": "扫描连接",
    "sends ": "发送 ",
    "shutdown": "正常关闭",
    "timeout scan": "扫描超时的事务",
    "trace worker": "汇总消息轨迹",
    "transaction check": "事务回查",
    "transaction check ": "事务回查 ",
    "transfers": "转账",
    "vote of ": "投票 ",
    "waits for its end": "等待退出时刻",
    "works off the list": "处理内存队列",
}


def label_table() -> dict[str, str]:
    """English name -> Chinese name."""
    return {**_TASKS, **_EVENTS, **{label: text.zh for label, text in STEPS.items()}}
