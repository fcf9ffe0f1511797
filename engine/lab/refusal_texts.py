"""What the lab says when it refuses something, in every language: one table.

Who refuses names a text and its values: ``raise NoSuchTarget(NO_NODE, name=name, known=...)``. Names of fields, kinds
and settings are the same in all languages: they are what one writes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from engine.broker.dead_letter import DeadLetterRefusal
from engine.broker.half_message_lookup import Refusal

#: Words or a sentence, by language.
Words = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class RefusalText:
    """One sentence with ``{placeholders}``, the same ones in both languages."""

    en: str
    zh: str

    def filled(self, values: Mapping[str, object]) -> Words:
        """Language -> the sentence. A value that is a mapping is looked up by language."""
        return {language: text.format(**_in(language, values)) for language, text in (("en", self.en), ("zh", self.zh))}


def _in(language: str, values: Mapping[str, object]) -> dict[str, object]:
    return {name: value[language] if isinstance(value, Mapping) else value for name, value in values.items()}


def either(alternatives: Sequence[Words]) -> Words:
    """``a or b``."""
    return {
        "en": " or ".join(words["en"] for words in alternatives),
        "zh": "或".join(words["zh"] for words in alternatives),
    }


#: What another error says already.
PROBLEM = RefusalText("{problem}", "{problem}")

# --- targets -------------------------------------------------------------------------------------------------------

NO_NODE = RefusalText("there is no node {name!r}; there are: {known}", "没有节点 {name!r}；现有节点：{known}")
NEEDS_BROKER = RefusalText(
    "{kind} needs a broker, {name} is a {role}; brokers: {known}",
    "{kind} 只能用于 Broker，而 {name} 是 {role}；现有 Broker：{known}",
)
NEEDS_CONSUMER = RefusalText(
    "{kind} needs a consumer, {name} is a {role}; consumers: {known}",
    "{kind} 只能用于消费者，而 {name} 是 {role}；现有消费者：{known}",
)
ORDERLY_HAS_NO_DELAY_LEVEL = RefusalText(
    "{name} consumes in order: delay_level is not allowed; what fails is tried again in its queue",
    "{name} 是顺序消费：不允许 delay_level；失败的消息就在原队列里重试",
)
NEEDS_DISK = RefusalText(
    "{kind} needs a node with a disk, {name} is a {role} without; with one: {known}",
    "{kind} 只能用于有磁盘的节点，而 {name} 是没有磁盘的 {role}；有磁盘的节点：{known}",
)
NO_BANK = RefusalText(
    "{name} is no bank: there is nothing that it could credit twice", "{name} 不是银行：没有什么可以重复入账"
)
ONE_BANK_ONLY = RefusalText(
    "{name} is a bank with its database on its own disk: another member of its group would not know what is in it",
    "{name} 是一家银行，数据库在它自己的磁盘上：消费组里的其他成员看不到其中的内容",
)
NO_LINK = RefusalText(
    "{link!r} is no link; write P1->B1 for one direction, P1<->B1 for both",
    "{link!r} 不是链路；单向写成 P1->B1，双向写成 P1<->B1",
)
NO_ACTOR = RefusalText("no task or link is called {name!r} now", "现在没有名为 {name!r} 的任务或链路")
NO_NODE_NAME = RefusalText(
    "{name!r} is no name for a node; allowed: a letter, then up to 19 letters, digits, - or _",
    "{name!r} 不能作为节点名；应以字母开头，后面最多 19 个字母、数字、- 或 _",
)
NODE_EXISTS = RefusalText("there is a node {name} already", "已经有名为 {name} 的节点")
TOO_MANY_NODES = RefusalText("a world has at most {limit} nodes", "一个世界最多有 {limit} 个节点")
NO_TOPIC_NAME = RefusalText("{problem}", "主题名不合法：{problem}")
NO_BROKER_RUNS = RefusalText("no broker runs that could be told", "没有正在运行的 Broker 可以执行此操作")

# --- states --------------------------------------------------------------------------------------------------------

WRONG_STATE = RefusalText(
    "{name} is {status}: only a node that is {allowed} can {deed}",
    "{name} 当前{status}：只有{allowed}的节点才能{deed}",
)
#: :attr:`engine.lab.node_role.LabNodeRole.status`.
STATUS_WORDS: Mapping[str, Words] = {
    "running": {"en": "running", "zh": "运行中"},
    "paused": {"en": "paused", "zh": "已暂停"},
    "crashed": {"en": "crashed", "zh": "已崩溃"},
    "off": {"en": "off", "zh": "未启动"},
}
CRASH: Words = {"en": "crash", "zh": "崩溃"}
LOSE_POWER: Words = {"en": "lose its power", "zh": "断电"}
BE_STARTED: Words = {"en": "be started", "zh": "启动"}
BE_PAUSED: Words = {"en": "be paused", "zh": "暂停"}
GO_ON: Words = {"en": "go on", "zh": "恢复"}
DECIDE_HALF_MESSAGES: Words = {"en": "decide half messages", "zh": "处理半消息"}
RESEND_DEAD_LETTERS: Words = {"en": "resend dead letters", "zh": "重发死信"}
BE_STOPPED: Words = {"en": "be stopped", "zh": "停止"}
GIVE_UP_A_QUEUE: Words = {"en": "give up a queue", "zh": "放弃队列"}
NOT_ITS_QUEUE = RefusalText(
    "{name} does not own queue {queue_id} of {topic} now", "{name} 现在不拥有 {topic} 的队列 {queue_id}"
)

# --- faults --------------------------------------------------------------------------------------------------------

ON_BOTH_SIDES = RefusalText("{name} cannot be on both sides of a partition", "{name} 不能同时位于分区的两侧")
TOO_MANY_PARTITIONS = RefusalText(
    "there are {limit} partitions already: heal the links first", "已有 {limit} 个分区：请先恢复链路"
)
TOO_MANY_FRAME_FAULTS = RefusalText(
    "{limit} faults wait for a frame already: heal the links first", "已有 {limit} 个故障在等待帧：请先恢复链路"
)
ONE_FRAME_ONLY = RefusalText(
    "{kind} waits for one frame: write P1->B1, not P1<->B1", "{kind} 只等待一帧：请写 P1->B1，而不是 P1<->B1"
)

# --- half messages -------------------------------------------------------------------------------------------------

#: What the broker's side says in English stands in :class:`Refusal` already.
HALF_MESSAGE_REFUSED: Mapping[Refusal, RefusalText] = {
    Refusal.NO_SUCH: RefusalText("{problem}", "没有唯一 ID 或 key 为 {name!r:.80} 的半消息"),
    Refusal.AMBIGUOUS: RefusalText(
        "{problem}", "有 {count} 条半消息的 key 是 {name!r:.80}；请用唯一 ID 指明其中一条：{ids}"
    ),
    Refusal.DECIDED: RefusalText(
        "{problem}",
        "{name!r:.80} 已有结论：op 消息 {op} 标记了它；RocketMQ 仍会照办，再提交一次消费者就会再收到一次",
    ),
    Refusal.GIVEN_UP: RefusalText("{problem}", "{name!r:.80} 在回查 {checks} 次之后已被放弃；请先让它重新接受回查"),
    Refusal.NOT_GIVEN_UP: RefusalText("{problem}", "没有唯一 ID 或 key 为 {name!r:.80} 的已放弃消息"),
    Refusal.RESUMED: RefusalText("{problem}", "{name!r:.80} 已在重新接受回查：它是半消息 {offset}"),
    Refusal.TOO_FAR_BACK: RefusalText(
        "{problem}", "在 {name!r:.80} 之后已有超过 {limit} 条消息有了结论：无法得知它是否在其中"
    ),
    Refusal.OPS_UNREADABLE: RefusalText(
        "{problem}", "这个 Broker 不允许读取 op 队列：无法得知 {name!r:.80} 是否已有结论"
    ),
    Refusal.NO_INDEX: RefusalText("{problem}", "半消息要靠索引查找，而 messageIndexEnable 为 false"),
    Refusal.BY_BROKER: RefusalText("{problem}", "Broker 拒绝了请求：{remark}"),
}

# --- dead letters --------------------------------------------------------------------------------------------------

#: What the broker's side says in English stands in :class:`DeadLetterRefusal` already.
DEAD_LETTER_REFUSED: Mapping[DeadLetterRefusal, RefusalText] = {
    DeadLetterRefusal.NO_SUCH: RefusalText("{problem}", "消费组 {group!r:.80} 没有 ID 或 key 为 {name!r:.80} 的死信"),
    DeadLetterRefusal.AMBIGUOUS: RefusalText(
        "{problem}", "该消费组有 {count} 条死信的 key 是 {name!r:.80}；请用消息 ID 指明其中一条：{ids}"
    ),
    DeadLetterRefusal.RESENT: RefusalText(
        "{problem}",
        "{name!r:.80} 已经重发过：它现在是 {topic} 队列 {queue_id} 中的消息 {offset}；再发一次，消费者可能会收到两次",
    ),
    DeadLetterRefusal.NO_TOPIC: RefusalText("{problem}", "{name!r:.80} 没有记录它来自哪个主题；只能重发给消费组"),
    DeadLetterRefusal.NO_INDEX: RefusalText("{problem}", "死信是否重发过要靠索引查找，而 messageIndexEnable 为 false"),
    DeadLetterRefusal.BY_BROKER: RefusalText("{problem}", "Broker 拒绝了请求：{remark}"),
}

# --- commands ------------------------------------------------------------------------------------------------------

NO_COMMAND_OBJECT = RefusalText(
    "a command is an object with the field 'kind', got {data!r:.60}",
    "命令应是带有 kind 字段的对象，收到的是 {data!r:.60}",
)
NO_COMMAND = RefusalText(
    "there is no command {kind!r:.60}; allowed: {known}", "没有命令 {kind!r:.60}；可用命令：{known}"
)
NO_FIELD = RefusalText(
    "{kind} has no field {field!r:.60}; allowed: {known}", "{kind} 没有字段 {field!r:.60}；可用字段：{known}"
)
TARGET_TOO_LONG = RefusalText(
    "{kind}.target must be a text of at most {limit} characters", "{kind}.target 必须是不超过 {limit} 个字符的文本"
)
NO_TARGET_TAKEN = RefusalText("{kind} takes no target, got {target!r}", "{kind} 不需要目标，收到的是 {target!r}")
TARGET_MISSING = RefusalText(
    "{kind}.target is missing: the name of a {target}", "缺少 {kind}.target：应为一个 {target} 的名称"
)
VALUE_MISSING = RefusalText("{kind}.{field} is missing", "缺少 {kind}.{field}")
BAD_VALUE = RefusalText(
    "{kind}.{field} is {value!r:.60}; allowed: {expected}", "{kind}.{field} 的值为 {value!r:.60}；允许：{expected}"
)
WHOLE_NUMBER = RefusalText("a whole number from {low:g} to {high:g}", "{low:g} 到 {high:g} 的整数")
NUMBER = RefusalText("a number from {low:g} to {high:g}", "{low:g} 到 {high:g} 的数")
SWITCH: Words = {"en": "true or false", "zh": "true 或 false"}
ANYTHING: Words = {"en": "(nothing: any)", "zh": "（留空：任意）"}
TEXT = RefusalText("a text of 1 to {limit} characters", "1 到 {limit} 个字符的文本")
NODE_NAMES: Words = {"en": "a list of at least one node name", "zh": "至少含一个节点名的列表"}
PLAIN_VALUE = RefusalText(
    "a finite number, true, false, or a text of at most {limit} characters",
    "有限的数、true、false，或不超过 {limit} 个字符的文本",
)
ONLY_SETTINGS = RefusalText(
    "only a setting can be changed from the beginning, not {kind}", "只有配置可以从头修改，{kind} 不行"
)

# --- settings ------------------------------------------------------------------------------------------------------

NO_SETTING = RefusalText("a {role} has no setting {name!r}; {hint}", "{role} 没有配置项 {name!r}；{hint}")
DID_YOU_MEAN = RefusalText("did you mean {likely}?", "是否想写 {likely}？")
ALLOWED = RefusalText("allowed: {known}", "可用：{known}")
WRONG_TYPE = RefusalText("{name} must be {expected}, got {value!r}", "{name} 必须是{expected}，收到的是 {value!r}")
TEXT_TOO_LONG = RefusalText(
    "{name} may have at most {limit} characters, got {length}", "{name} 最多 {limit} 个字符，收到 {length} 个"
)
VALUES_TO_COMPARE = RefusalText(
    "{count} values to compare; allowed: 1 to {limit}, separated by commas",
    "要比较的值有 {count} 个；允许 1 到 {limit} 个，用逗号分隔",
)
NOBODY_TO_WATCH = RefusalText(
    "{name} is no client, and there is none whose figures could be compared",
    "{name} 不是客户端，场景中也没有其他客户端可供比较",
)
SETTING_TWICE = RefusalText("{name} stands twice", "{name} 出现了两次")
SETTINGS_CLASH = RefusalText("{problem}", "引擎不接受这些配置：{problem}")
TYPE_WORDS: Mapping[type, Words] = {
    int: {"en": "a whole number", "zh": "整数"},
    float: {"en": "a number", "zh": "数"},
    bool: {"en": "true or false", "zh": " true 或 false"},
    str: {"en": "a text", "zh": "文本"},
}

# --- scenarios, recordings, limits ---------------------------------------------------------------------------------

SCENARIO_ERROR = RefusalText("{where}: {message}", "{where}：{message}")
NO_SCENARIO = RefusalText("there is no scenario {name!r}; there are: {known}", "没有场景 {name!r}；现有场景：{known}")
NO_EXPORT = RefusalText(
    "this is no exported run: format must be {format!r} and version {version}",
    "这不是导出的运行文件：format 必须是 {format!r}，version 必须是 {version}",
)
NO_COMMAND_LIST = RefusalText("commands must be a list", "commands 必须是列表")
LINK_WITHOUT_COMMANDS = RefusalText("the link has no list of commands", "链接中没有命令列表")
LINK_BAD_COMMAND = RefusalText(
    "a command of the link is not [event, time, command]", "链接中的某个命令不是 [事件, 时间, 命令] 的形式"
)
LINK_TOO_LONG = RefusalText(
    "the link has {length} characters; allowed: {limit}", "链接有 {length} 个字符；最多允许 {limit} 个"
)
LINK_CUT = RefusalText("the link is cut off, or unpacks to more than is allowed", "链接不完整，或解压后超过允许的大小")
LINK_UNREADABLE = RefusalText(
    "the link cannot be read, perhaps a part of it is missing: {problem}", "链接无法解析，可能缺少一部分：{problem}"
)
TOO_MANY_RECORDED = RefusalText(
    "the run has {count} commands; allowed: {limit}", "该运行有 {count} 个命令；最多允许 {limit} 个"
)
BAD_RECORDED_COMMAND = RefusalText("command {number}: {problem}", "第 {number} 个命令：{problem}")
COMMANDS_OUT_OF_ORDER = RefusalText(
    "command {number} comes before command {before}: they must be in order",
    "第 {number} 个命令的时间早于第 {before} 个命令：命令必须按顺序排列",
)
NO_OBJECT = RefusalText(
    "{what} must be a JSON object, got {data!r:.60}", "{what}必须是 JSON 对象，收到的是 {data!r:.60}"
)
AN_EXPORT: Words = {"en": "an exported run", "zh": "导出的运行文件"}
A_COMMAND_ENTRY: Words = {"en": "an entry of commands", "zh": " commands 的每一项"}
LINK_CONTENT: Words = {"en": "the content of a link", "zh": "链接的内容"}
BAD_NAME = RefusalText(
    "{name!r:.60} is no name for a scenario; allowed: up to {limit} letters, digits, - and _; first no sign",
    "{name!r:.60} 不能作为场景名；只允许字母、数字、- 和 _，以字母或数字开头，最多 {limit} 个字符",
)
NO_TEXT = RefusalText(
    "{name} must be a text of at most {limit} characters, got {value!r:.60}",
    "{name} 必须是不超过 {limit} 个字符的文本，收到的是 {value!r:.60}",
)
NO_NUMBER = RefusalText(
    "{name} must be a whole number from 0 to {high}, got {value!r:.60}",
    "{name} 必须是 0 到 {high} 的整数，收到的是 {value!r:.60}",
)
FIELD_OF_COMMAND = RefusalText("{field} of command {number}", "第 {number} 个命令的 {field}")
RECORDED_REFUSED = RefusalText(
    "the command at event {event} cannot be applied: {problem}", "事件 {event} 处的命令无法执行：{problem}"
)
TOO_MANY_EVENTS = RefusalText(
    "a run has at most {limit} events: start it anew, or fork it earlier",
    "一次运行最多 {limit} 个事件：请重新开始，或从更早处分叉",
)
TOO_MANY_COMMANDS = RefusalText("a run has at most {limit} commands", "一次运行最多 {limit} 个命令")

# --- the explorer --------------------------------------------------------------------------------------------------

NOTHING_TO_SEARCH = RefusalText(
    "{scenario} has no orderly consumers, no transactions and no banks: the search looks for broken order, forgotten "
    "half messages, and money that is lost or comes from nowhere",
    "{scenario} 没有顺序消费者，没有事务，也没有银行：搜索寻找的是顺序被破坏、半消息被遗忘、钱丢失或凭空出现",
)
CANNOT_REHEARSE = RefusalText(
    "the rehearsal does not know everything that happens in {scenario}; search it on the stage",
    "排练不了解 {scenario} 中发生的一切；请在舞台上搜索",
)
NO_SWITCH = RefusalText(
    "there is no lock {name!r:.60} to switch off; there are: {known}", "没有可关闭的锁 {name!r:.60}；现有：{known}"
)
OUT_OF_BOUNDS = RefusalText(
    "{name} is {value}; allowed: {low} to {high}", "{name} 为 {value}；允许的范围：{low} 到 {high}"
)
EMPTY_WINDOW = RefusalText(
    "the search would begin at {begin} ms and end at {end} ms; the story lasts {duration} ms",
    "搜索从 {begin} 毫秒开始、到 {end} 毫秒结束；故事只有 {duration} 毫秒",
)
