"""What the job tells about itself."""

from __future__ import annotations

from engine.pipeline.jobs.description import (
    ColumnKind,
    JobDescription,
    JobParameter,
    JobTable,
    ParameterKind,
    TableColumn,
    cell_texts,
)

#: Beyond it a sweep takes weeks.
SEEDS_MAX = 1_000_000
SEED_MAX = 2**53 - 1

KINDS_TABLE = "fault_kinds"
FINDINGS_TABLE = "counterexamples"

#: The lab's kinds of faults, and what broken invariants are called, by the words of the lab.
FAULTS = cell_texts(
    {
        "crash": "崩溃",
        "crash-power": "断电",
        "pause": "进程暂停",
        "partition": "网络分区",
        "delay": "网络延迟",
        "loss": "丢帧",
        "duplicate": "帧重复",
        "reorder": "帧乱序",
        "clock-skew": "时钟偏移",
        "disk": "磁盘故障",
        "listener": "监听器异常",
        "group": "消费组变动",
    }
)
ANOMALIES = cell_texts(
    {
        "lost write": "写入丢失",
        "duplicate": "重复消费",
        "out of order": "乱序",
        "skipped": "遗漏",
        "ghost read": "凭空读到",
        "two owners": "两个持有者",
        "stuck": "停滞",
        "broken code": "代码异常",
    }
)

_PARAMETERS = (
    JobParameter(
        "scenario",
        ParameterKind.SCENARIO,
        {
            "en": "The name of a scenario (glassmq lab list); on the command line also a scenario file (.yaml).",
            "zh": "场景的名称（glassmq lab list）；命令行也可以指定场景文件（.yaml）。",
        },
        required=True,
    ),
    JobParameter(
        "seeds",
        ParameterKind.INTEGER,
        {"en": "How many seeds to run.", "zh": "运行多少个种子。"},
        default=1_000,
        minimum=1,
        maximum=SEEDS_MAX,
    ),
    JobParameter(
        "first_seed",
        ParameterKind.INTEGER,
        {"en": "The first of them.", "zh": "第一个种子。"},
        default=1,
        minimum=0,
        maximum=SEED_MAX - SEEDS_MAX,
    ),
    JobParameter(
        "faults",
        ParameterKind.CHOICE,
        {
            "en": "Whether things break at random, within the scenario's fault model.",
            "zh": "是否在场景的故障模型之内随机注入故障。",
        },
        default="random",
        choices=("none", "random"),
    ),
    JobParameter(
        "results_folder",
        ParameterKind.FOLDER,
        {
            "en": "Keeps what is finished, on the driver's machine; a later run with this folder goes on from there.",
            "zh": "保存已完成的结果（在 Driver 所在的机器上）；以后用同一个文件夹运行，就从那里接着做。",
        },
    ),
    JobParameter(
        "chunk",
        ParameterKind.INTEGER,
        {
            "en": "Seeds per Spark task. Not said: by the number of seeds and of cores.",
            "zh": "每个 Spark 任务的种子数。不填：按种子数和核数决定。",
        },
        minimum=1,
        maximum=10_000,
    ),
    JobParameter(
        "address",
        ParameterKind.TEXT,
        {"en": "Where the links lead: your glassmq serve.", "zh": "链接指向的地址：你的 glassmq serve。"},
        default="",
    ),
)

_KINDS = JobTable(
    KINDS_TABLE,
    {"en": "Runs with violations, by kind of fault", "zh": "按故障类型统计的违例运行"},
    (
        TableColumn("kind", ColumnKind.TEXT, {"en": "Fault (*: all runs)", "zh": "故障（*：全部运行）"}, FAULTS),
        TableColumn("runs", ColumnKind.INTEGER, {"en": "Runs with it", "zh": "含该故障的运行"}),
        TableColumn("bad", ColumnKind.INTEGER, {"en": "With violations", "zh": "其中违例"}),
        TableColumn("rate", ColumnKind.SHARE, {"en": "Rate", "zh": "违例率"}),
        TableColumn("low", ColumnKind.SHARE, {"en": "95 % from", "zh": "95% 区间下限"}),
        TableColumn("high", ColumnKind.SHARE, {"en": "to", "zh": "上限"}),
        TableColumn("alone", ColumnKind.INTEGER, {"en": "Runs with it alone", "zh": "仅含该故障的运行"}),
        TableColumn("alone_bad", ColumnKind.INTEGER, {"en": "With violations", "zh": "其中违例"}),
    ),
    bad_column="bad",
)

_FINDINGS = JobTable(
    FINDINGS_TABLE,
    {"en": "Violated invariants, each with the shortest run", "zh": "被违反的不变式，各附最短的一次运行"},
    (
        TableColumn("invariant", ColumnKind.TEXT, {"en": "Invariant", "zh": "不变式"}),
        TableColumn("anomaly", ColumnKind.TEXT, {"en": "Anomaly", "zh": "异常"}, ANOMALIES),
        TableColumn("runs", ColumnKind.INTEGER, {"en": "Runs", "zh": "运行次数"}),
        TableColumn("seed", ColumnKind.INTEGER, {"en": "Seed", "zh": "种子"}),
        TableColumn("faults", ColumnKind.TEXT, {"en": "Its faults", "zh": "其中的故障"}),
        TableColumn("event", ColumnKind.INTEGER, {"en": "Shows after event", "zh": "在此事件之后显现"}),
        TableColumn("what", ColumnKind.TEXT, {"en": "What is violated", "zh": "违反了什么"}),
        TableColumn("link", ColumnKind.LINK, {"en": "Replay", "zh": "重放"}),
    ),
    bad_column="runs",
)

DESCRIPTION = JobDescription(
    name="simulation-fleet",
    title={"en": "Simulation fleet", "zh": "模拟舰队"},
    about={
        "en": (
            "Runs a scenario of the lab with very many seeds, each with random faults of its own, on all cores that "
            "Spark has. Which faults break an invariant, how often, and what is the shortest run that shows it? Needs "
            "no broker: every seed is a whole cluster in virtual time."
        ),
        "zh": (
            "用大量种子运行实验室的一个场景，每个种子有自己的随机故障，占满 Spark 的所有核。"
            "哪些故障会违反不变式？频率多高？能重现它的最短运行是哪一次？"
            "不需要 Broker：每个种子都是虚拟时间里的一整个集群。"
        ),
    },
    parameters=_PARAMETERS,
    tables=(_KINDS, _FINDINGS),
)
