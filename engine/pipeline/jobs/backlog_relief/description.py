"""What the backlog relief tells about itself."""

from __future__ import annotations

from engine.pipeline.jobs.description import (
    BATCH_MAX_MESSAGES,
    NUMBER_MAX,
    ColumnKind,
    JobDescription,
    JobParameter,
    JobPlot,
    JobTable,
    ParameterKind,
    TableColumn,
    cell_texts,
    trigger_ms,
)

_MOVE_PARAMETERS = (
    JobParameter(
        "relieve_above",
        ParameterKind.INTEGER,
        {
            "en": "To move: begin when the group is more messages behind than this.",
            "zh": "转存时：消费组积压超过该条数时开始。",
        },
        default=10_000,
        minimum=0,
        maximum=NUMBER_MAX,
    ),
    JobParameter(
        "until_below",
        ParameterKind.INTEGER,
        {
            "en": "To move: end when it is fewer behind than this. To send: do not begin before that.",
            "zh": "转存时：积压低于该条数时停止；重发时：积压低于该条数之前不开始。",
        },
        default=1_000,
        minimum=0,
        maximum=NUMBER_MAX,
    ),
    JobParameter(
        "left_to_group",
        ParameterKind.INTEGER,
        {
            "en": "To move: so many messages ahead of the group in each queue stay with it. It should not consume "
            "more until it hears of what was moved (a few seconds), or it works on some that are sent again later.",
            "zh": "转存时：每个队列中紧接消费位点之后的这么多条留给消费组处理。"
            "应不少于消费组得知转存结果之前（数秒）所消费的条数，否则部分消息会被处理两次。",
        },
        default=1_000,
        minimum=0,
        maximum=NUMBER_MAX,
    ),
    JobParameter(
        "max_messages_per_batch",
        ParameterKind.INTEGER,
        {
            "en": "To move: most messages that are read at a time.",
            "zh": "转存时：每轮最多读取多少条。",
        },
        default=500_000,
        minimum=1,
        maximum=BATCH_MAX_MESSAGES,
    ),
)
_SEND_PARAMETERS = (
    JobParameter(
        "send_to",
        ParameterKind.TOPIC,
        {
            "en": "To send: the topic. Not said: the group's retry topic, which nobody else reads. Their own topic is "
            "possible, but all groups get them there.",
            "zh": "重发时：目标主题。不填：该消费组的重试主题，只有该组能收到。也可发回原主题，"
            "但所有消费组都会再次收到。",
        },
    ),
    JobParameter(
        "messages_per_second",
        ParameterKind.INTEGER,
        {
            "en": "To send: not more than so many per second; 0: as fast as it goes.",
            "zh": "重发时：每秒最多多少条；0 表示不限。",
        },
        default=0,
        minimum=0,
        maximum=1_000_000,
    ),
    JobParameter(
        "max_message_bytes",
        ParameterKind.INTEGER,
        {
            "en": "To send: what the brokers take (their maxMessageSize). Longer bodies are compressed; those that "
            "are still longer are not sent, and named.",
            "zh": "重发时：Broker 接收的上限（maxMessageSize）。更长的消息体会先压缩；压缩后仍超限的不重发，"
            "并逐条列出。",
        },
        default=4_194_304,
        minimum=1_024,
        maximum=1 << 30,
    ),
)

DESCRIPTION = JobDescription(
    name="backlog-relief",
    title={"en": "Backlog relief", "zh": "积压转储"},
    about={
        "en": "While a group is far behind, reads ahead of it and stores messages of low priority as Parquet; its "
        "consumers, which ask what is stored (MovedAside), skip those and come to the important ones sooner. Later the "
        "same job sends them, in order, at a limited rate. Nothing is lost; what was stored just before the group came "
        "to it may be worked on twice.",
        "zh": "当消费组积压很多时，先于消费组读取，把低优先级消息转存为 Parquet；"
        "消费者（使用 MovedAside）查询到已转存的消息便跳过，从而更快处理重要消息。"
        "之后由同一作业按原顺序限速重发。不会丢消息；在消费组即将处理时才转存的消息可能被处理两次。",
    },
    parameters=(
        JobParameter(
            "mode",
            ParameterKind.CHOICE,
            {
                "en": "Move messages aside, or send those that were moved.",
                "zh": "move：转存；send：重发已转存的消息。",
            },
            default="move",
            choices=("move", "send"),
        ),
        JobParameter(
            "topics",
            ParameterKind.TOPICS,
            {
                "en": "Which topics the group consumes, joined by commas.",
                "zh": "消费组订阅的主题，用逗号分隔。",
            },
            required=True,
        ),
        JobParameter(
            "group",
            ParameterKind.GROUP,
            {
                "en": "The group that is behind.",
                "zh": "有积压的消费组。",
            },
            required=True,
        ),
        JobParameter(
            "low_priority",
            ParameterKind.TEXT,
            {
                "en": "What matters less: tags (bulk,report) or a property (level=low); the same as in the consumers.",
                "zh": "哪些消息优先级低：标签（bulk,report）或属性（level=low）；须与消费者中的设置一致。",
            },
            required=True,
        ),
        JobParameter(
            "folder",
            ParameterKind.FOLDER,
            {
                "en": "Where they are stored: a local or shared folder, or hdfs://..., for this group only.",
                "zh": "转存目录：本地或共享目录，或 hdfs://...；每个消费组单独一个。",
            },
            required=True,
        ),
        *_MOVE_PARAMETERS,
        *_SEND_PARAMETERS,
        JobParameter(
            "follow",
            ParameterKind.SWITCH,
            {
                "en": "Keep watching the backlog, until stopped; otherwise one look, and the end when that is dealt "
                "with.",
                "zh": "持续观察积压，直到停止；否则只看一次，处理完即结束。",
            },
            default=False,
        ),
        trigger_ms(5_000),
    ),
    tables=(
        JobTable(
            "moved",
            {"en": "Moved aside", "zh": "已转存"},
            (
                TableColumn("topic", ColumnKind.TEXT, {"en": "topic", "zh": "主题"}),
                TableColumn("queue", ColumnKind.TEXT, {"en": "queue", "zh": "队列"}),
                TableColumn("group_at", ColumnKind.INTEGER, {"en": "group is at", "zh": "消费组位点"}),
                TableColumn("from", ColumnKind.INTEGER, {"en": "moved from", "zh": "转存起点"}),
                TableColumn("to", ColumnKind.INTEGER, {"en": "up to", "zh": "转存终点"}),
                TableColumn("moved", ColumnKind.INTEGER, {"en": "moved, in all", "zh": "累计转存"}),
                TableColumn("kept", ColumnKind.INTEGER, {"en": "left to the group", "zh": "留给消费组"}),
            ),
        ),
        JobTable(
            "sent",
            {"en": "Sent later", "zh": "重发进度"},
            (
                TableColumn("batch", ColumnKind.INTEGER, {"en": "batch", "zh": "批次"}),
                TableColumn("messages", ColumnKind.INTEGER, {"en": "messages", "zh": "消息数"}),
                TableColumn("sent", ColumnKind.INTEGER, {"en": "sent", "zh": "已重发"}),
                TableColumn("not_sent", ColumnKind.INTEGER, {"en": "too long", "zh": "过长"}),
                TableColumn("left", ColumnKind.INTEGER, {"en": "waiting", "zh": "待重发"}),
            ),
        ),
        JobTable(
            "not_sent",
            {"en": "Not sent, kept in the folder", "zh": "未重发（保留在目录中）"},
            (
                TableColumn("message", ColumnKind.TEXT, {"en": "message", "zh": "消息"}),
                TableColumn(
                    "why",
                    ColumnKind.TEXT,
                    {"en": "why", "zh": "原因"},
                    cell_texts({"body too long": "消息体过长", "properties too long": "属性过长"}),
                ),
                TableColumn("bytes", ColumnKind.INTEGER, {"en": "bytes", "zh": "字节"}),
            ),
            bad_column="bytes",
        ),
    ),
    plots=(
        JobPlot(
            "backlog",
            {"en": "Backlog of the group", "zh": "消费组积压"},
            "1",
            series_texts=cell_texts({"with relief": "转存后", "without": "不转存"}),
        ),
        JobPlot(
            "waiting",
            {"en": "Moved aside, not sent yet", "zh": "已转存待重发"},
            "1",
            series_texts=cell_texts({"messages": "消息"}),
        ),
    ),
    runs_until_stopped=None,
)
