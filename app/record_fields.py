"""Names and one-sentence explanations of every field of a stored message and of a consume-queue entry.

The order is the order of the bytes (RocketMQ: ``CommitLog.MessageExtEncoder``, ``ConsumeQueue``). The English
names are those of RocketMQ's source.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FieldText:
    """What the page says about one field, in both languages."""

    name: str
    name_zh: str
    explanation: str
    explanation_zh: str


#: Every field of a stored message, keyed by the name that the page shows in English.
RECORD_FIELDS: dict[str, FieldText] = {
    text.name: text
    for text in (
        FieldText(
            "TOTALSIZE",
            "总长度",
            "Length of this whole record in bytes; the next record starts right after it.",
            "整条记录的字节数；下一条记录紧接其后。",
        ),
        FieldText(
            "MAGICCODE",
            "魔数",
            "0xDAA320A7 marks a message; recovery stops trusting the log where it is missing.",
            "0xDAA320A7 表示这里是一条消息；恢复时遇到魔数不符就停止信任后面的数据。",
        ),
        FieldText(
            "BODYCRC",
            "消息体校验和",
            "CRC-32 of the body as stored, without the sign bit; recovery checks it.",
            "所存消息体的 CRC-32（去掉符号位）；恢复时会校验。",
        ),
        FieldText(
            "QUEUEID",
            "队列编号",
            "The queue of the topic that this message belongs to.",
            "这条消息所属的主题队列编号。",
        ),
        FieldText(
            "FLAG",
            "用户标志",
            "A number for the application's own use; the broker never reads it.",
            "留给应用自己使用的整数；Broker 从不解读它。",
        ),
        FieldText(
            "QUEUEOFFSET",
            "队列偏移量",
            "Position of this message in its queue, counted in messages from 0.",
            "消息在所属队列中的序号，从 0 开始按条计数。",
        ),
        FieldText(
            "PHYSICALOFFSET",
            "物理偏移量",
            "Position of this record's first byte in the commit log, counted over all its files.",
            "本记录首字节在提交日志中的位置，跨所有文件连续计算。",
        ),
        FieldText(
            "SYSFLAG",
            "系统标志",
            "Bits set by client and broker: compression, transaction state, IPv6 hosts.",
            "客户端和 Broker 设置的标志位：压缩、事务状态、IPv6 地址。",
        ),
        FieldText(
            "BORNTIMESTAMP",
            "产生时间",
            "When the producer made the message, by the producer's clock.",
            "生产者创建消息的时间，以生产者的时钟为准。",
        ),
        FieldText(
            "BORNHOST",
            "产生地址",
            "Address of the producer's connection as the broker saw it.",
            "Broker 看到的生产者连接地址。",
        ),
        FieldText(
            "STORETIMESTAMP",
            "存储时间",
            "When the broker appended the record, by the broker's clock.",
            "Broker 追加这条记录的时间，以 Broker 的时钟为准。",
        ),
        FieldText(
            "STOREHOSTADDRESS",
            "存储地址",
            "Address of the broker; with the physical offset it makes the offset message id.",
            "Broker 的地址；与物理偏移量一起组成偏移消息 ID。",
        ),
        FieldText(
            "RECONSUMETIMES",
            "重试次数",
            "How often a consumer group has already failed on this message.",
            "消费组处理这条消息已经失败的次数。",
        ),
        FieldText(
            "PREPAREDTRANSACTIONOFFSET",
            "半消息偏移量",
            "For a committed or rolled-back transaction, where its half message lies; otherwise 0.",
            "对已提交或回滚的事务，指向其半消息的位置；否则为 0。",
        ),
        FieldText("BODYLENGTH", "消息体长度", "Length of the body in bytes.", "消息体的字节数。"),
        FieldText(
            "BODY",
            "消息体",
            "The application's bytes, compressed where SYSFLAG says so.",
            "应用写入的字节；若 SYSFLAG 标明则为压缩后的内容。",
        ),
        FieldText(
            "TOPICLENGTH",
            "主题长度",
            "Length of the topic name in bytes, at most 127.",
            "主题名的字节数，最多 127。",
        ),
        FieldText("TOPIC", "主题", "The topic's name in UTF-8.", "主题名，UTF-8 编码。"),
        FieldText("PROPERTIESLENGTH", "属性长度", "Length of the properties in bytes.", "属性部分的字节数。"),
        FieldText(
            "PROPERTIES",
            "属性",
            "Names and values (tags, keys, unique id ...) separated by the bytes 0x01 and 0x02.",
            "属性名和值（标签、键、唯一 ID 等），以字节 0x01 和 0x02 分隔。",
        ),
    )
}

#: The three fields of a consume-queue entry.
QUEUE_ENTRY_FIELDS: dict[str, FieldText] = {
    text.name: text
    for text in (
        FieldText(
            "COMMITLOGOFFSET",
            "提交日志偏移量",
            "Where the message's record starts in the commit log.",
            "消息记录在提交日志中的起始位置。",
        ),
        FieldText("SIZE", "记录长度", "Length of that record in bytes.", "该记录的字节数。"),
        FieldText(
            "TAGSCODE",
            "标签哈希",
            "Java hash of the message's tag: lets the broker skip messages without reading them.",
            "消息标签的 Java 哈希值：Broker 不读消息就能过滤。",
        ),
    )
}
