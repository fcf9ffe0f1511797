"""What the delivery audit tells about itself."""

from __future__ import annotations

from collections.abc import Mapping

from engine.client.numbering_ledger import NUMBERING_LEDGER_TOPIC
from engine.pipeline.jobs.description import (
    BATCH_MAX_MESSAGES,
    CHECKPOINT_FOLDER,
    DAY_MS,
    FOLLOW,
    STARTING_END,
    ColumnKind,
    JobDescription,
    JobParameter,
    JobPlot,
    JobTable,
    ParameterKind,
    TableColumn,
    Texts,
    cell_texts,
    trigger_ms,
)
from engine.protocol.names import TRACE_TOPIC


def _integer(name: str, title: Texts) -> TableColumn:
    return TableColumn(name, ColumnKind.INTEGER, title)


def _text(name: str, title: Texts, chinese_cells: Mapping[str, str] | None = None) -> TableColumn:
    return TableColumn(name, ColumnKind.TEXT, title, cell_texts(chinese_cells or {}))


def _milliseconds(name: str, title: Texts) -> TableColumn:
    return TableColumn(name, ColumnKind.MILLISECONDS, title)


_TOPIC: Texts = {"en": "topic", "zh": "主题"}
_MESSAGES: Texts = {"en": "messages", "zh": "消息数"}

_KINDS = {
    "lost": "丢失",
    "acknowledged, not stored": "已确认但未存储",
    "duplicated": "重复",
    "out of order": "乱序",
    "too sparse": "编号过于稀疏",
    "not consumed": "未消费",
    "consumed twice": "重复消费",
    "failed": "消费失败过",
}
_FROM_TO = {"born > stored": "产生 → 存储", "stored > consumed": "存储 → 消费"}

_PARAMETERS = (
    JobParameter(
        "topics",
        ParameterKind.TOPICS,
        {
            "en": "Which topics, joined by commas. May be left out with input_folder: then all topics of users in it.",
            "zh": "哪些主题，用逗号分隔。使用 input_folder 时可不填：审计其中所有用户主题。",
        },
    ),
    JobParameter(
        "groups",
        ParameterKind.GROUPS,
        {
            "en": "Consumer groups that must have consumed everything, joined by commas: group for all topics, "
            "group@topic for one. Not said: every group that reports, each from where it began.",
            "zh": "必须消费全部消息的消费组，用逗号分隔：group 指所有主题，group@topic 只指一个主题。"
            "不填：所有上报过轨迹的消费组，各从其开始消费的位置算起。",
        },
    ),
    JobParameter(
        "judge_groups",
        ParameterKind.SWITCH,
        {
            "en": "Judge what consumer groups consumed. Off: only what producers sent and brokers stored is judged.",
            "zh": "是否判定消费组的消费情况。关闭：只判定生产者的发送与 Broker 的存储。",
        },
        default=True,
    ),
    JobParameter(
        "trace_topic",
        ParameterKind.TOPIC,
        {
            "en": "Where clients with message trace on report.",
            "zh": "开启消息轨迹的客户端上报到哪个主题。",
        },
        default=TRACE_TOPIC,
    ),
    JobParameter(
        "ledger_topic",
        ParameterKind.TOPIC,
        {
            "en": "Where producers tell at their end how many numbers they gave.",
            "zh": "生产者关闭时把编号总数上报到哪个主题。",
        },
        default=NUMBERING_LEDGER_TOPIC,
    ),
    JobParameter(
        "late_ms",
        ParameterKind.DURATION,
        {
            "en": "A message is late if it was stored longer than this after it was born.",
            "zh": "产生后超过多久才存入算迟到。",
        },
        default=1_000,
        minimum=0,
        maximum=DAY_MS,
    ),
    JobParameter(
        "grace_ms",
        ParameterKind.DURATION,
        {
            "en": "Nothing counts as missing before what is behind it has been stored for so long.",
            "zh": "其后的消息存入满这段时间之后，缺失的消息才算缺失。",
        },
        default=5_000,
        minimum=0,
        maximum=DAY_MS,
    ),
    STARTING_END,
    FOLLOW,
    trigger_ms(2_000),
    JobParameter(
        "max_messages_per_batch",
        ParameterKind.INTEGER,
        {
            "en": "With follow: most messages of one batch; a longer backlog is read in several.",
            "zh": "与 follow 合用：每批最多读取多少条；积压更多时分多批。",
        },
        default=1_000_000,
        minimum=1,
        maximum=BATCH_MAX_MESSAGES,
    ),
    CHECKPOINT_FOLDER,
    JobParameter(
        "input_folder",
        ParameterKind.FOLDER,
        {
            "en": "Parquet files in the message schema to audit instead of a broker; taken as complete, so that "
            "everything in it is judged.",
            "zh": "不读 Broker，而审计该目录中按消息列格式存放的 Parquet 文件；视为数据完整，全部判定。",
        },
    ),
)

_TABLES = (
    JobTable(
        "producers",
        {"en": "Producers", "zh": "生产者"},
        (
            _text(
                "producer", {"en": "producer (group@id)", "zh": "生产者（组@标识）"}, {"(not numbered)": "（无编号）"}
            ),
            _text("topic", _TOPIC),
            _integer("numbered", {"en": "numbered", "zh": "已编号"}),
            _integer("stored", {"en": "stored", "zh": "已存储"}),
            _integer("lost", {"en": "lost", "zh": "丢失"}),
            _integer("duplicated", {"en": "duplicated", "zh": "重复"}),
            _integer("out_of_order", {"en": "out of order", "zh": "乱序"}),
            _integer("late", {"en": "late", "zh": "迟到"}),
            _integer("refused", {"en": "refused, the sender knows", "zh": "被拒绝（发送方已知）"}),
            _integer("unknown", {"en": "unknown to the sender", "zh": "发送方不知结果"}),
            _integer("not_judged", {"en": "not judged yet", "zh": "尚未判定"}),
            TableColumn("has_ended", ColumnKind.YES_NO, {"en": "told its end", "zh": "已报告终止"}),
            _integer("findings", {"en": "findings", "zh": "问题数"}),
        ),
        bad_column="findings",
    ),
    JobTable(
        "findings",
        {"en": "Findings", "zh": "发现的问题"},
        (
            _text("kind", {"en": "what", "zh": "类型"}, _KINDS),
            _text("topic", _TOPIC),
            _text("who", {"en": "producer or group", "zh": "生产者或消费组"}),
            _text("queue", {"en": "queue", "zh": "队列"}),
            _integer("first", {"en": "first number or offset", "zh": "起始编号或位点"}),
            _integer("last", {"en": "last", "zh": "结束"}),
            _integer("count", {"en": "how many", "zh": "数量"}),
            _text("where", {"en": "where", "zh": "位置"}),
        ),
        bad_column="count",
    ),
    JobTable(
        "groups",
        {"en": "Consumer groups, by their own reports", "zh": "消费组（依据其上报的轨迹）"},
        (
            _text("group", {"en": "group", "zh": "消费组"}),
            _text("topic", _TOPIC),
            _integer("stored", {"en": "stored", "zh": "已存储"}),
            _integer("consumed", {"en": "consumed", "zh": "已消费"}),
            _integer("missing", {"en": "missing", "zh": "未消费"}),
            _integer("twice", {"en": "more than once", "zh": "重复消费"}),
            _integer("failed", {"en": "failed at times", "zh": "曾失败"}),
            _integer("findings", {"en": "findings", "zh": "问题数"}),
        ),
        bad_column="findings",
    ),
    JobTable(
        "latency",
        {"en": "Latency", "zh": "时延"},
        (
            _text("from_to", {"en": "from, to", "zh": "区间"}, _FROM_TO),
            _text("topic", _TOPIC),
            _text("group", {"en": "group", "zh": "消费组"}),
            _integer("messages", _MESSAGES),
            _milliseconds("p50", {"en": "p50", "zh": "p50"}),
            _milliseconds("p95", {"en": "p95", "zh": "p95"}),
            _milliseconds("p99", {"en": "p99", "zh": "p99"}),
            _milliseconds("longest", {"en": "longest", "zh": "最长"}),
        ),
    ),
)

DESCRIPTION = JobDescription(
    name="delivery-audit",
    title={"en": "Delivery audit", "zh": "投递审计"},
    about={
        "en": "Compares what producers numbered with what the broker stored and what consumers reported: which "
        "messages are lost, duplicated, out of order or late, and which ones a group did not consume, or did twice. "
        "Producers number their messages with number_messages (glassmq send --number); consumers report with "
        "message trace on.",
        "zh": "比对生产者的编号、Broker 的存储与消费者的上报：哪些消息丢失、重复、乱序、迟到，哪些消息某个消费组没有"
        "消费或消费了多次。生产者开启 number_messages（glassmq send --number）后为消息编号；消费者开启消息轨迹后上报。",
    },
    parameters=_PARAMETERS,
    tables=_TABLES,
    plots=(
        JobPlot("latency", {"en": "From birth to store", "zh": "从产生到存储的时延"}, "ms"),
        JobPlot("rate", {"en": "Messages stored", "zh": "存储速率"}, "1/s"),
    ),
    runs_until_stopped=None,
)
