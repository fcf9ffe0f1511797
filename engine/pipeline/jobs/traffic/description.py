"""What ``glassmq pipeline traffic`` takes and shows."""

from __future__ import annotations

from engine.pipeline.jobs.description import (
    CHECKPOINT_FOLDER,
    DAY_MS,
    FOLLOW,
    STARTING_OFFSETS,
    TOPICS,
    ColumnKind,
    JobDescription,
    JobParameter,
    JobPlot,
    JobTable,
    ParameterKind,
    TableColumn,
    trigger_ms,
)

_TOPIC = TableColumn("topic", ColumnKind.TEXT, {"en": "Topic", "zh": "主题"})
_MESSAGES = TableColumn("messages", ColumnKind.INTEGER, {"en": "Messages", "zh": "消息数"})
_SHARE = TableColumn("share", ColumnKind.SHARE, {"en": "Share", "zh": "占比"})
_MAX_TO_MEAN = TableColumn("max_to_mean", ColumnKind.NUMBER, {"en": "Fullest queue / mean", "zh": "最满队列 / 平均"})
_VARIATION = TableColumn("variation", ColumnKind.NUMBER, {"en": "Coefficient of variation", "zh": "变异系数"})
_PEAK_SHARE = TableColumn(
    "peak_share", ColumnKind.SHARE, {"en": "Highest share in a window", "zh": "单个窗口内最高占比"}
)
_PEAK_WINDOW = TableColumn("peak_window", ColumnKind.TIMESTAMP, {"en": "In the window", "zh": "该窗口"})

DESCRIPTION = JobDescription(
    name="traffic",
    title={"en": "Traffic", "zh": "流量分析"},
    about={
        "en": "Cuts topics into windows of time: messages and bytes per second, latency from born to stored, which "
        "tags and keys dominate, how evenly queues are filled. With groups it also asks the brokers how far "
        "consumers are behind. Over the history, or with follow as messages come, with a watermark for late ones.",
        "zh": "把主题按时间窗口切分：每秒消息数与字节数、从产生到存储的延迟、哪些标签和键占多数、各队列是否均衡。"
        "填写消费组后，还会向 Broker 询问消费积压。"
        "可分析历史，也可用 follow 持续跟踪，迟到的消息由水位线处理。",
    },
    parameters=(
        TOPICS,
        JobParameter(
            "groups",
            ParameterKind.TEXT,
            {
                "en": "Consumer groups whose lag is asked for, joined by commas.",
                "zh": "要查询积压的消费组，用逗号分隔。",
            },
        ),
        STARTING_OFFSETS,
        JobParameter(
            "window_ms",
            ParameterKind.DURATION,
            {"en": "Length of a window.", "zh": "窗口长度。"},
            default=10_000,
            minimum=100,
            maximum=DAY_MS,
        ),
        JobParameter(
            "event_time",
            ParameterKind.CHOICE,
            {
                "en": "A message belongs to the window in which it was stored, or in which it was born (sent).",
                "zh": "消息归入它被存储的窗口，还是产生（发送）的窗口。",
            },
            default="stored",
            choices=("stored", "born"),
        ),
        JobParameter(
            "watermark_ms",
            ParameterKind.DURATION,
            {
                "en": "With follow: how far behind the newest message one may be and still be counted.",
                "zh": "与 follow 合用：比最新消息晚多久之内仍计入窗口。",
            },
            default=10_000,
            minimum=0,
            maximum=DAY_MS,
        ),
        JobParameter(
            "top",
            ParameterKind.INTEGER,
            {"en": "How many tags and keys are shown.", "zh": "显示多少个标签和键。"},
            default=10,
            minimum=1,
            maximum=100,
        ),
        JobParameter(
            "count_bytes",
            ParameterKind.SWITCH,
            {
                "en": "Count the bytes of bodies too; without it they are not read, which is faster.",
                "zh": "同时统计消息体字节数；关闭则不读取消息体，更快。",
            },
            default=True,
        ),
        FOLLOW,
        trigger_ms(1_000),
        CHECKPOINT_FOLDER,
    ),
    tables=(
        JobTable(
            "topics",
            {"en": "Topics", "zh": "主题"},
            (
                _TOPIC,
                _MESSAGES,
                TableColumn("bytes", ColumnKind.INTEGER, {"en": "Bytes", "zh": "字节数"}),
                TableColumn("peak_per_s", ColumnKind.NUMBER, {"en": "Peak, messages/s", "zh": "峰值（条/秒）"}),
                TableColumn("peak_at", ColumnKind.TIMESTAMP, {"en": "Peak at", "zh": "峰值时间"}),
                TableColumn("worst_p99", ColumnKind.MILLISECONDS, {"en": "Worst p99 latency", "zh": "最差 p99 延迟"}),
                _MAX_TO_MEAN,
                _VARIATION,
            ),
        ),
        JobTable(
            "windows",
            {"en": "Windows, newest first", "zh": "窗口（最新在前）"},
            (
                TableColumn("start", ColumnKind.TIMESTAMP, {"en": "Window", "zh": "窗口"}),
                _TOPIC,
                _MESSAGES,
                TableColumn("per_s", ColumnKind.NUMBER, {"en": "Messages/s", "zh": "条/秒"}),
                TableColumn("bytes_per_s", ColumnKind.NUMBER, {"en": "Bytes/s", "zh": "字节/秒"}),
                TableColumn("p50", ColumnKind.MILLISECONDS, {"en": "Latency p50", "zh": "延迟 p50"}),
                TableColumn("p99", ColumnKind.MILLISECONDS, {"en": "Latency p99", "zh": "延迟 p99"}),
                TableColumn("max", ColumnKind.MILLISECONDS, {"en": "Longest", "zh": "最长"}),
                _MAX_TO_MEAN,
                _VARIATION,
            ),
        ),
        JobTable(
            "lag",
            {"en": "Consumer lag, longest first", "zh": "消费积压（最多的在前）"},
            (
                TableColumn("group", ColumnKind.TEXT, {"en": "Group", "zh": "消费组"}),
                _TOPIC,
                TableColumn("queue", ColumnKind.TEXT, {"en": "Queue", "zh": "队列"}),
                TableColumn("offset", ColumnKind.INTEGER, {"en": "Offset", "zh": "消费位点"}),
                TableColumn("end", ColumnKind.INTEGER, {"en": "End", "zh": "队列末尾"}),
                TableColumn("lag", ColumnKind.INTEGER, {"en": "Lag", "zh": "积压"}),
            ),
        ),
        JobTable(
            "tags",
            {"en": "Tags", "zh": "标签"},
            (
                _TOPIC,
                TableColumn("tag", ColumnKind.TEXT, {"en": "Tag", "zh": "标签"}),
                _MESSAGES,
                _SHARE,
                _PEAK_SHARE,
                _PEAK_WINDOW,
            ),
        ),
        JobTable(
            "keys",
            {"en": "Keys (the first of each message)", "zh": "键（每条消息的第一个）"},
            (
                _TOPIC,
                TableColumn("key", ColumnKind.TEXT, {"en": "Key", "zh": "键"}),
                _MESSAGES,
                _SHARE,
                _PEAK_SHARE,
                _PEAK_WINDOW,
            ),
        ),
        JobTable(
            "queues",
            {"en": "Queues, fullest first", "zh": "队列（最满的在前）"},
            (
                _TOPIC,
                TableColumn("queue", ColumnKind.TEXT, {"en": "Queue", "zh": "队列"}),
                _MESSAGES,
                _SHARE,
                TableColumn("to_mean", ColumnKind.NUMBER, {"en": "Times the mean", "zh": "平均值的倍数"}),
            ),
        ),
        JobTable(
            "late",
            {"en": "Messages that came too late", "zh": "迟到的消息"},
            (
                TableColumn("read", ColumnKind.INTEGER, {"en": "Read", "zh": "已读取"}),
                TableColumn("counted", ColumnKind.INTEGER, {"en": "In windows", "zh": "计入窗口"}),
                TableColumn("late", ColumnKind.INTEGER, {"en": "Left out", "zh": "未计入"}),
            ),
        ),
    ),
    plots=(
        JobPlot("throughput", {"en": "Throughput", "zh": "吞吐量"}, "messages/s"),
        JobPlot("latency", {"en": "Latency from born to stored", "zh": "从产生到存储的延迟"}, "ms"),
        JobPlot("lag", {"en": "Consumer lag", "zh": "消费积压"}, "messages"),
        JobPlot("imbalance", {"en": "Fullest queue / mean", "zh": "最满队列 / 平均"}, "x"),
    ),
    runs_until_stopped=None,
)
