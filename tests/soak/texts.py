"""What the report says, in both languages."""

from __future__ import annotations

from collections.abc import Mapping

from tests.soak.judge import Judgement, Outcome

LANGUAGES = ("en", "zh")

#: Sentences of judgements, filled with their figures.
_SENTENCES: Mapping[str, tuple[str, str]] = {
    "ran-through": ("Ran to its end: a run that breaks off shows nothing.", "运行到底：中途中断的测试说明不了什么。"),
    "nothing-lost": (
        "Nothing lost: of {of:,} acknowledged messages {lost:,} are not in the broker.",
        "没有丢失：{of:,} 条已确认的消息中，Broker 里找不到 {lost:,} 条。",
    ),
    "all-consumed": (
        "Everything consumed: of {of:,} acknowledged {lost:,} never reached their group; {again:,} came again.",
        "全部消费：{of:,} 条已确认的消息中，{lost:,} 条从未到达消费组；重复投递 {again:,} 次。",
    ),
    "rollbacks-unseen": (
        "Rolled back stays unseen: of {of:,} rolled-back messages {seen:,} were consumed.",
        "回滚不可见：{of:,} 条已回滚的消息中，{seen:,} 条被消费。",
    ),
    "order-kept": (
        "Order kept: of {of:,} orderly deliveries {swapped:,} came behind a later message of their queue.",
        "顺序保持：{of:,} 次顺序投递中，{swapped:,} 次排在同一队列更晚的消息之后。",
    ),
    "no-traceback": ("No traceback: the broker's logs hold {count}.", "没有异常堆栈：Broker 日志中有 {count} 个。"),
    "clients-alive": ("Clients alive: {count} ended by themselves.", "客户端存活：{count} 个自行退出。"),
    "memory-bounded": (
        "Memory bounded: at most {peak:.0f} MiB of its own (limit {limit:.0f}); {cut:,} silent readers were cut.",
        "内存有界：自身内存最多 {peak:.0f} MiB（上限 {limit:.0f}）；切断了 {cut:,} 个不读取的连接。",
    ),
    "memory-flat": (
        "Memory flat: {per_hour:+.1f} MiB/h (95 %: {low:+.1f} to {high:+.1f}), {minutes:.0f} min; limit {limit:.0f}.",
        "内存平稳：{per_hour:+.1f} MiB/小时（95 %：{low:+.1f} 至 {high:+.1f}），{minutes:.0f} 分钟；上限 {limit:.0f}。",
    ),
    "fds-flat": (
        "Descriptors flat: {per_hour:+.1f}/h (95 %: {low:+.1f} to {high:+.1f}), {minutes:.0f} min; limit {limit:.0f}.",
        "描述符平稳：{per_hour:+.1f}/小时（95 %：{low:+.1f} 至 {high:+.1f}），{minutes:.0f} 分钟；上限 {limit:.0f}。",
    ),
    "page-answers": (
        "Page answers: p50 {p50:.0f} ms, p99 {p99:.0f} ms (limit {limit:.0f}); {failed:,} of {of:,} without an answer.",
        "页面响应：p50 {p50:.0f} 毫秒，p99 {p99:.0f} 毫秒（上限 {limit:.0f}）；{of:,} 次中 {failed:,} 次无响应。",
    ),
    "live-page": (
        "Live page: {updates:,} updates; longest silence {silence:.1f} s at {at:.0f} s (limit {limit:.0f}).",
        "实时页面：{updates:,} 次更新；最长静默 {silence:.1f} 秒（第 {at:.0f} 秒起，上限 {limit:.0f}）。",
    ),
}
#: Shown instead where a run is too short; without figures where it has none at all.
_TOO_SHORT = (
    "{minutes:.1f} minutes after the warm-ups say nothing of growth ({least:.0f} are needed).",
    "预热之后只有 {minutes:.1f} 分钟，看不出增长（至少需要 {least:.0f} 分钟）。",
)

OUTCOMES: Mapping[Outcome, tuple[str, str]] = {
    Outcome.PASSED: ("passed", "通过"),
    Outcome.FAILED: ("FAILED", "未通过"),
    Outcome.UNCERTAIN: ("not judged", "未判定"),
}

#: The page around them, and the plots.
WORDS: Mapping[str, tuple[str, str]] = {
    "title": ("GlassMQ under load: {minutes:.0f} minutes", "GlassMQ 负载测试：{minutes:.0f} 分钟"),
    "good": ("All judgements passed", "全部判定通过"),
    "bad": ("{count} of {of} judgements failed", "{of} 项判定中有 {count} 项未通过"),
    "left_out": ("Left out", "未包含"),
    "kills": ("Kills (kill -9)", "强制终止（kill -9）"),
    "kill": ("at {at}, served again after {start:.1f} s", "{at} 时终止，{start:.1f} 秒后恢复服务"),
    "streams": ("Streams", "消息流"),
    "stream": ("stream", "消息流"),
    "clients": ("sender → consumer", "发送方 → 消费方"),
    "acknowledged": ("acknowledged", "已确认"),
    "in_doubt": ("in doubt", "结果未知"),
    "consumed": ("consumed", "已消费"),
    "again": ("again", "重复"),
    "refused": ("refused once", "曾被拒绝"),
    "lost": ("lost", "丢失"),
    "marks": (
        "Dashed lines: kill -9. Shaded: the disk is full. Horizontal axis: minutes under load.",
        "虚线：kill -9。浅黄色区域：磁盘已满。横轴：负载分钟数。",
    ),
    "rates": ("Messages per second", "每秒消息数"),
    "rates_acknowledged": ("acknowledged", "已确认"),
    "rates_consumed": ("consumed", "已消费"),
    "sends": ("Time until the acknowledgement, ms", "确认耗时，毫秒"),
    "memory": ("Memory of the broker's process, MiB", "Broker 进程内存，MiB"),
    "memory_own": ("its own", "自身"),
    "memory_resident": ("with mapped files", "含映射文件"),
    "fds": ("Descriptors open, files of the store left out", "打开的文件描述符（不含存储文件）"),
    "disk": ("Disk taken by the broker, MiB", "Broker 占用的磁盘，MiB"),
    "lag": ("Messages that groups have not confirmed", "消费组尚未确认的消息"),
    "page": ("Time until the page answers, ms", "页面响应耗时，毫秒"),
}


def word(name: str, language: str, **figures: object) -> str:
    """A text of the report."""
    return WORDS[name][LANGUAGES.index(language)].format(**figures)


def sentence(judgement: Judgement, language: str) -> str:
    """A judgement in words."""
    index = LANGUAGES.index(language)
    text = _SENTENCES[judgement.name][index]
    if judgement.outcome is Outcome.UNCERTAIN and judgement.figures["minutes"] < judgement.figures["least"]:
        heading, colon, _ = text.partition(":" if language == "en" else "：")
        text = f"{heading}{colon}{' ' if language == 'en' else ''}{_TOO_SHORT[index]}"
    return text.format(**judgement.figures)
