"""What the archive job tells about itself."""

from __future__ import annotations

from dataclasses import replace

from engine.pipeline.jobs.description import (
    BATCH_MAX_MESSAGES,
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
    cell_texts,
    trigger_ms,
)

DESCRIPTION = JobDescription(
    name="archive",
    title={"en": "Exactly-once archive", "zh": "精确一次归档"},
    about={
        "en": "Stores topics as Parquet files by topic and day, each business key once. It may be killed at any moment "
        "and started again: nothing is lost, nothing is there twice, and whoever reads the folder meanwhile sees whole "
        "files only. What was left out as a copy is kept in a hidden folder beside it.",
        "zh": "把主题按“主题/日期”存成 Parquet 文件，同一业务键只存一次。作业可在任意时刻被杀死后重启：不丢失、不重复；"
        "期间读取该目录的人只会看到完整的文件。被判为重复而未归档的消息保存在旁边的隐藏目录中。",
    },
    parameters=(
        TOPICS,
        JobParameter(
            "folder",
            ParameterKind.FOLDER,
            {
                "en": "The archive: a local or shared folder, or hdfs://..., that only jobs like this write to.",
                "zh": "归档目录：本地或共享目录，或 hdfs://...；只能由此类作业写入。",
            },
            required=True,
        ),
        JobParameter(
            "key",
            ParameterKind.TEXT,
            {
                "en": "What makes two messages of a topic the same: keys (all keys of the message), unique_id (the "
                "client's; the same if the client itself resends), or property:NAME. A message without it goes by its "
                "unique id, else it is unlike all others.",
                "zh": "同一主题中怎样算同一条消息：keys（消息的全部 key）、unique_id（客户端生成，"
                "客户端重发时不变）或 property:名称。没有该值的消息按 unique_id 判断；仍没有则视为独一无二。",
            },
            default="keys",
        ),
        JobParameter(
            "dedup_window_ms",
            ParameterKind.DURATION,
            {
                "en": "A copy is found if the first was stored at most so long before it; 0: whenever it was. A "
                "window makes batches quicker when the archive is large.",
                "zh": "只在多长时间之前的归档中查找重复；0 表示整个归档。归档很大时，设置窗口可缩短每批耗时。",
            },
            default=0,
            minimum=0,
            maximum=30 * DAY_MS,
        ),
        replace(
            STARTING_OFFSETS,
            help={
                "en": f"{STARTING_OFFSETS.help['en']} Later runs go on where the last one ended.",
                "zh": f"{STARTING_OFFSETS.help['zh']}之后的运行从上次结束处继续。",
            },
        ),
        FOLLOW,
        replace(
            trigger_ms(60_000),
            help={
                "en": "With follow: how often to archive what came; each time makes at least one new file.",
                "zh": "与 follow 合用：每隔多久归档一批，每批至少产生一个文件。",
            },
        ),
        JobParameter(
            "max_messages_per_batch",
            ParameterKind.INTEGER,
            {
                "en": "Most messages of one batch; a longer backlog is archived in several.",
                "zh": "每批最多归档多少条；积压更多时分多批。",
            },
            default=500_000,
            minimum=1,
            maximum=BATCH_MAX_MESSAGES,
        ),
        JobParameter(
            "max_messages_per_file",
            ParameterKind.INTEGER,
            {
                "en": "Most messages of one file; a larger batch becomes several files.",
                "zh": "每个文件最多多少条；更大的批次会分成多个文件。",
            },
            default=500_000,
            minimum=1,
            maximum=BATCH_MAX_MESSAGES,
        ),
        JobParameter(
            "checkpoint_folder",
            ParameterKind.FOLDER,
            {
                "en": "Where Spark keeps how far it has read. Not said: _checkpoint in the archive.",
                "zh": "Spark 的读取进度保存在哪里。不填：归档目录中的 _checkpoint。",
            },
        ),
    ),
    tables=(
        JobTable(
            "archive",
            {"en": "What is in the archive", "zh": "归档内容"},
            (
                TableColumn("topic", ColumnKind.TEXT, {"en": "topic", "zh": "主题"}),
                TableColumn("day", ColumnKind.TEXT, {"en": "day (UTC)", "zh": "日期（UTC）"}),
                TableColumn("messages", ColumnKind.INTEGER, {"en": "messages", "zh": "消息数"}),
                TableColumn("copies", ColumnKind.INTEGER, {"en": "copies left out", "zh": "去除的重复"}),
                TableColumn(
                    "changed",
                    ColumnKind.INTEGER,
                    {"en": "left out, though the body differs", "zh": "键相同但内容不同而未归档"},
                ),
                TableColumn("files", ColumnKind.INTEGER, {"en": "files", "zh": "文件数"}),
                TableColumn("bytes", ColumnKind.INTEGER, {"en": "bytes", "zh": "字节"}),
            ),
            bad_column="changed",
        ),
    ),
    plots=(
        JobPlot("rate", {"en": "Archived", "zh": "归档速率"}, "1/s", series_texts=cell_texts({"messages": "消息"})),
        JobPlot(
            "copies",
            {"en": "Copies left out, in all", "zh": "累计去除的重复"},
            "1",
            series_texts={
                "copies": {"en": "same body", "zh": "内容相同"},
                "changed": {"en": "another body", "zh": "内容不同"},
            },
        ),
    ),
    runs_until_stopped=None,
)
