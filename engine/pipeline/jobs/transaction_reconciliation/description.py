"""What ``glassmq pipeline transaction-reconciliation`` takes and shows."""

from __future__ import annotations

from engine.pipeline.jobs.description import (
    CHECKPOINT_FOLDER,
    DAY_MS,
    FOLLOW,
    NUMBER_MAX,
    STARTING_END,
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
from engine.pipeline.jobs.transaction_reconciliation.words import Agreement, Status, TransactionAnomaly, Window

_STATUS = cell_texts(
    {
        Status.OPEN: "未决",
        Status.COMMITTED: "已提交",
        Status.ROLLED_BACK: "已回滚",
        Status.GIVEN_UP: "已放弃",
        Status.NOT_COMMITTED: "已回滚或未决",
        Status.NOT_READ: "未读取其主题",
    }
)
_FINDING = cell_texts(
    {
        TransactionAnomaly.COMMITTED_AND_ROLLED_BACK: "既提交又回滚",
        TransactionAnomaly.COMMITTED_TWICE: "多次提交",
        TransactionAnomaly.DECIDED_LATE: "了结之后又被裁决",
        TransactionAnomaly.COMMITTED_WITHOUT_HALF: "没有半消息却已提交",
        TransactionAnomaly.COMMITTED_WITHOUT_OP: "已提交却没有 Op 消息",
        TransactionAnomaly.OP_WITHOUT_HALF: "有 Op 消息却没有半消息",
        TransactionAnomaly.ROLLED_BACK_TWICE: "多次回滚",
    }
)
_AGREEMENT = cell_texts(
    {
        Agreement.FROM_NOWHERE: "已入账，但从未扣款",
        Agreement.TOO_MUCH: "入账多于扣款",
        Agreement.TOO_LITTLE: "入账少于扣款",
        Agreement.ROLLED_BACK: "已扣款，但消息已回滚",
        Agreement.NO_MESSAGE: "已扣款，但没有消息",
        Agreement.GIVEN_UP: "已扣款，但消息已被放弃",
        Agreement.NO_TRANSFER: "消息已提交，但没有扣款",
        Agreement.UNDECIDED: "在途：已扣款，消息尚未裁决",
        Agreement.ON_ITS_WAY: "在途：已扣款，尚未入账",
        Agreement.AGREED: "已扣款且已入账",
    }
)
_WINDOW = cell_texts(
    {
        Window.HALF_TO_COMMITTED: "半消息入库 → 已提交消息入库",
        Window.DEBIT_TO_CREDIT: "扣款 → 入账",
    }
)

_MESSAGE = TableColumn("message", ColumnKind.TEXT, {"en": "Message", "zh": "消息"})
_TOPIC = TableColumn("topic", ColumnKind.TEXT, {"en": "Topic", "zh": "主题"})
_KEY = TableColumn("key", ColumnKind.TEXT, {"en": "Key", "zh": "键"})
_BROKER = TableColumn("broker", ColumnKind.TEXT, {"en": "Broker", "zh": "Broker"})

DESCRIPTION = JobDescription(
    name="transaction-reconciliation",
    title={"en": "Transaction reconciliation", "zh": "事务对账"},
    about={
        "en": "Says of every half message whether it is open, committed, rolled back or given up, and what must not "
        "have happened: committed twice, committed and rolled back, committed without a half message. With the folder "
        "of `glassmq bank` it compares both banks' ledgers with the messages: money in flight, lost, or from nowhere.",
        "zh": "逐条说明每条半消息的结局：未决、已提交、已回滚或已放弃，并找出不该发生的事：提交了两次、既提交又回滚、"
        "没有半消息却已提交。给出 `glassmq bank` 的目录后，还会把两家银行的账本与消息对账："
        "在途的钱、丢失的钱、凭空多出的钱。",
    },
    parameters=(
        JobParameter(
            "topics",
            ParameterKind.TOPICS,
            {
                "en": "Only transactions for these topics; not said: all topics that half messages name.",
                "zh": "只看发往这些主题的事务；不填：半消息中出现的所有主题。",
            },
        ),
        STARTING_END,
        JobParameter(
            "bank_folder",
            ParameterKind.FOLDER,
            {
                "en": "Folder of `glassmq bank`, on the machine where this command runs: compare its two ledgers too.",
                "zh": "运行本命令的机器上 `glassmq bank` 的目录：同时核对其中的两本账。",
            },
        ),
        JobParameter(
            "opening_sum",
            ParameterKind.INTEGER,
            {
                "en": "What both banks held together before the first transfer, if you know it: ledgers that say "
                "otherwise are a problem.",
                "zh": "第一笔转账之前两家银行合计的金额（如果知道）：账本推算的结果与此不同就算一个问题。",
            },
            minimum=0,
            maximum=NUMBER_MAX,
        ),
        FOLLOW,
        trigger_ms(2_000),
        CHECKPOINT_FOLDER,
        JobParameter(
            "keep_settled_ms",
            ParameterKind.DURATION,
            {
                "en": "With follow: how long a settled transaction is remembered one by one; later it is only counted.",
                "zh": "与 follow 合用：已了结的事务逐条保留多久，之后只计数。",
            },
            default=600_000,
            minimum=1_000,
            maximum=30 * DAY_MS,
        ),
    ),
    tables=(
        JobTable(
            "summary",
            {"en": "Half messages by status", "zh": "半消息按状态统计"},
            (
                TableColumn("status", ColumnKind.TEXT, {"en": "Status", "zh": "状态"}, _STATUS),
                TableColumn("transactions", ColumnKind.INTEGER, {"en": "Transactions", "zh": "事务数"}),
                TableColumn("share", ColumnKind.SHARE, {"en": "Share", "zh": "占比"}),
                TableColumn("checks", ColumnKind.INTEGER, {"en": "Check-backs", "zh": "回查次数"}),
            ),
        ),
        JobTable(
            "findings",
            {"en": "What must not have happened", "zh": "不该发生的事"},
            (
                TableColumn("finding", ColumnKind.TEXT, {"en": "Finding", "zh": "问题"}, _FINDING),
                _MESSAGE,
                _TOPIC,
                _KEY,
                TableColumn("commits", ColumnKind.INTEGER, {"en": "Commits", "zh": "提交数"}),
                TableColumn("ops", ColumnKind.INTEGER, {"en": "Op messages", "zh": "Op 消息数"}),
                _BROKER,
                TableColumn("count", ColumnKind.INTEGER, {"en": "Count", "zh": "数量"}),
            ),
            bad_column="count",
        ),
        JobTable(
            "open",
            {"en": "Open half messages, oldest first", "zh": "未决的半消息（最早的在前）"},
            (
                _MESSAGE,
                _TOPIC,
                TableColumn("group", ColumnKind.TEXT, {"en": "Producer group", "zh": "生产者组"}),
                _KEY,
                TableColumn("status", ColumnKind.TEXT, {"en": "Status", "zh": "状态"}, _STATUS),
                TableColumn("since", ColumnKind.TIMESTAMP, {"en": "Since", "zh": "始于"}),
                TableColumn("age", ColumnKind.MILLISECONDS, {"en": "Age", "zh": "已过"}),
                TableColumn("checks", ColumnKind.INTEGER, {"en": "Check-backs", "zh": "回查次数"}),
                _BROKER,
                TableColumn("half_offset", ColumnKind.INTEGER, {"en": "Half offset", "zh": "半消息位点"}),
            ),
        ),
        JobTable(
            "money",
            {"en": "Money of both banks", "zh": "两家银行的钱"},
            (
                TableColumn("before", ColumnKind.INTEGER, {"en": "Before", "zh": "转账前"}),
                TableColumn("expected", ColumnKind.INTEGER, {"en": "Before, as said", "zh": "转账前（所填）"}),
                TableColumn("after", ColumnKind.INTEGER, {"en": "Now", "zh": "现在"}),
                TableColumn("in_flight", ColumnKind.INTEGER, {"en": "In flight", "zh": "在途"}),
                TableColumn("lost", ColumnKind.INTEGER, {"en": "Lost", "zh": "丢失"}),
                TableColumn("from_nowhere", ColumnKind.INTEGER, {"en": "From nowhere", "zh": "凭空多出"}),
                TableColumn("conserved", ColumnKind.YES_NO, {"en": "Conserved", "zh": "守恒"}),
                TableColumn("problems", ColumnKind.INTEGER, {"en": "Problems", "zh": "问题数"}),
            ),
            bad_column="problems",
        ),
        JobTable(
            "accounts",
            {"en": "Accounts", "zh": "账户"},
            (
                TableColumn("bank", ColumnKind.TEXT, {"en": "Bank", "zh": "银行"}),
                TableColumn("account", ColumnKind.TEXT, {"en": "Account", "zh": "账户"}),
                TableColumn("opening", ColumnKind.INTEGER, {"en": "Opening balance", "zh": "期初余额"}),
                TableColumn("debited", ColumnKind.INTEGER, {"en": "Debited", "zh": "扣款"}),
                TableColumn("credited", ColumnKind.INTEGER, {"en": "Credited", "zh": "入账"}),
                TableColumn("balance", ColumnKind.INTEGER, {"en": "Balance", "zh": "余额"}),
            ),
        ),
        JobTable(
            "transfers",
            {"en": "Transfers that do not agree (yet)", "zh": "（尚）对不上的转账"},
            (
                TableColumn("agreement", ColumnKind.TEXT, {"en": "What the books say", "zh": "对账结果"}, _AGREEMENT),
                _KEY,
                TableColumn("debited", ColumnKind.INTEGER, {"en": "Debited", "zh": "扣款"}),
                TableColumn("credited", ColumnKind.INTEGER, {"en": "Credited", "zh": "入账"}),
                TableColumn("debited_at", ColumnKind.TIMESTAMP, {"en": "Debited at", "zh": "扣款时间"}),
                TableColumn("credited_at", ColumnKind.TIMESTAMP, {"en": "Credited at", "zh": "入账时间"}),
                TableColumn("message", ColumnKind.TEXT, {"en": "Message", "zh": "消息"}, _STATUS),
                TableColumn("wrong", ColumnKind.INTEGER, {"en": "Wrong", "zh": "有问题"}),
            ),
            bad_column="wrong",
        ),
        JobTable(
            "windows",
            {"en": "Windows of inconsistency", "zh": "不一致窗口"},
            (
                TableColumn("what", ColumnKind.TEXT, {"en": "From - to", "zh": "起止"}, _WINDOW),
                TableColumn("count", ColumnKind.INTEGER, {"en": "Count", "zh": "数量"}),
                TableColumn("p50", ColumnKind.MILLISECONDS, {"en": "Median", "zh": "中位数"}),
                TableColumn("p90", ColumnKind.MILLISECONDS, {"en": "p90", "zh": "p90"}),
                TableColumn("p99", ColumnKind.MILLISECONDS, {"en": "p99", "zh": "p99"}),
                TableColumn("longest", ColumnKind.MILLISECONDS, {"en": "Longest", "zh": "最长"}),
            ),
        ),
        JobTable(
            "longest",
            {"en": "Longest windows", "zh": "最长的窗口"},
            (
                TableColumn("what", ColumnKind.TEXT, {"en": "From - to", "zh": "起止"}, _WINDOW),
                _KEY,
                TableColumn("from", ColumnKind.TIMESTAMP, {"en": "From", "zh": "开始"}),
                TableColumn("to", ColumnKind.TIMESTAMP, {"en": "To", "zh": "结束"}),
                TableColumn("window", ColumnKind.MILLISECONDS, {"en": "Window", "zh": "窗口"}),
            ),
        ),
    ),
    plots=(
        JobPlot(
            "open",
            {"en": "Open half messages", "zh": "未决的半消息"},
            "messages",
            series_texts=cell_texts({"open": "未决"}),
        ),
        JobPlot(
            "in_flight",
            {"en": "Money in flight", "zh": "在途的钱"},
            "money",
            series_texts=cell_texts({"in flight": "在途"}),
        ),
    ),
    runs_until_stopped=None,
)
