"""``glassmq serve -c broker.conf``: RocketMQ's settings file (``mqbroker -c``), read as Java properties.

Keys mean the same as in ``--broker-setting`` and ``--store-setting``. A key that has an option of its own changes the
default of that option, so the command line wins. RocketMQ silently ignores unknown keys and values that do not parse;
here both stop the start, all reported together with their lines, and known keys that have no meaning here are reported.
Each value is checked by itself first, then all of them together.
"""

from __future__ import annotations

import codecs
import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import click

from app.foundation.option_types import Read, addresses, folder, name, port, usage_errors
from engine.broker.foundation.broker_config import BrokerConfig
from engine.live.engine_settings import (
    OFTEN_IN_SECONDS,
    BadSetting,
    parse_setting,
    parse_value,
    rocketmq_name,
    setting_names,
    with_settings,
)
from engine.protocol.errors import MalformedBody
from engine.protocol.json_form.properties_text import PROPERTIES_MAX_BYTES, numbered_properties
from engine.replication.majority.group_config import GroupUnclear, parse_peers
from engine.store.files.store_config import FlushDiskType, MessageStoreConfig

_Config = TypeVar("_Config", BrokerConfig, MessageStoreConfig)


def _peers(text: str) -> str:
    parse_peers(text)
    return text


#: Keys that are options of ``serve``, not settings of the broker or the store.
_PLACES = {"storePathRootDir": "data", "dLegerPeers": "group_peers", "dLegerSelfId": "group_self"}
_GROUP_SWITCH = "enableDLegerCommitLog"
#: Checks of the values of options, beyond their type.
_CHECKS: Mapping[str, Callable[[str], object]] = {
    "data": folder,
    "broker_name": name,
    "cluster_name": name,
    "port": port,
    "name_server_addresses": addresses,
    "group_peers": Read("peers", _peers, GroupUnclear),
}
#: The remaining settings of ``BrokerConfig``, ``MessageStoreConfig``, ``NettyServerConfig`` and ``NettyClientConfig``
#: of 4.9.8, and five keys that files for older brokers have.
_NAMES_WITHOUT_MEANING = """
    abortFile accessMessageInMemoryMaxRatio adminBrokerThreadPoolNums autoDeleteUnusedStats bitMapLengthConsumeQueueExt
    brokerFastFailureEnable brokerIP2 channelNotActiveInterval checkCRCOnRecover checkTransactionMessageEnable
    cleanFileForciblyEnable clientAsyncSemaphoreValue clientCallbackExecutorThreads clientChannelMaxIdleTimeSeconds
    clientCloseSocketIfTimeout clientManageThreadPoolNums clientManagerThreadPoolQueueCapacity
    clientOnewaySemaphoreValue clientPooledByteBufAllocatorEnable clientSocketRcvBufSize clientSocketSndBufSize
    clientWorkerThreads commercialBaseCount commercialBigCount commercialEnable commercialTimerCount
    commercialTransCount commitCommitLogLeastPages commitCommitLogThoroughInterval commitIntervalCommitLog
    compressedRegister configBlackList connectTimeoutMillis consumerFallbehindThreshold consumerManageThreadPoolNums
    consumerManagerThreadPoolQueueCapacity dLegerGroup debugLockEnable deleteCommitLogFilesInterval
    deleteConsumeQueueFilesInterval destroyMapedFileIntervalForcibly disableConsumeIfConsumerReadSlowly
    diskFallRecorded duplicationEnable enableBatchPush enableDetailStat enableLmq enableMultiDispatch
    enableScheduleAsyncDeliver enableScheduleMessageStats endTransactionPoolQueueCapacity endTransactionThreadPoolNums
    fastFailIfNoBufferInStorePool fetchNamesrvAddrByAddressServer filterServerNums flushCommitLogTimed
    flushConsumerOffsetHistoryInterval flushLeastPagesWhenWarmMapedFile forceRegister haMasterAddress
    heartbeatThreadPoolNums heartbeatThreadPoolQueueCapacity highSpeedMode isolateLogEnable maxDelayTime
    maxLmqConsumeQueueNum messageIndexSafe messageStorePlugIn offsetCheckInSlave osPageCacheBusyTimeOutMills
    preferredLeaderId processReplyMessageThreadPoolNums pullMessageThreadPoolNums pullThreadPoolQueueCapacity
    putMessageFutureThreadPoolNums putMsgIndexHightWater putThreadPoolQueueCapacity queryMessageThreadPoolNums
    queryThreadPoolQueueCapacity readOnlyCommitLogStorePaths redeleteHangedFileInterval replyThreadPoolQueueCapacity
    rocketmqHome scheduleAsyncDeliverMaxPendingLimit scheduleAsyncDeliverMaxResendNum2Blocked
    sendMessageThreadPoolNums sendThreadPoolQueueCapacity serverAsyncSemaphoreValue serverCallbackExecutorThreads
    serverChannelMaxIdleTimeSeconds serverOnewaySemaphoreValue serverPooledByteBufAllocatorEnable
    serverSelectorThreads serverSocketBacklog serverSocketRcvBufSize serverSocketSndBufSize serverWorkerThreads
    startAcceptSendRequestTimeStamp storeCheckpoint storePathCommitLog storePathConsumeQueue storePathDLedgerCommitLog
    storePathIndex transferMsgByHeap transientStorePoolEnable transientStorePoolSize useEpollNativeSelector
    useReentrantLockWhenPutMessage useTLS waitTimeMillsInHeartbeatQueue waitTimeMillsInPullQueue
    waitTimeMillsInSendQueue waitTimeMillsInTransactionQueue warmMapedFileEnable writeBufferHighWaterMark
    writeBufferLowWaterMark
"""
_WITHOUT_MEANING = frozenset(_NAMES_WITHOUT_MEANING.split())
#: Each spelling of a setting, and the field that it means.
_FIELDS = setting_names(BrokerConfig()) | setting_names(MessageStoreConfig())


@dataclass(frozen=True)
class BrokerFile:
    """The settings of a file, and notes for its reader.

    :ivar options: values of the options of ``serve``, by parameter, where the command line gives none.
    :ivar notes: one line each.
    """

    broker: BrokerConfig = field(default_factory=BrokerConfig)
    store: MessageStoreConfig = field(default_factory=MessageStoreConfig)
    options: Mapping[str, object] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def take_broker_file(context: click.Context, _parameter: click.Parameter, path: Path | None) -> BrokerFile:
    """Use the file's values as the defaults of the other options; the callback of ``-c``."""
    if path is None:
        return BrokerFile()
    with usage_errors(BadSetting, MalformedBody, OSError, option=f"-c / --config-file {path}"):
        found = read_broker_file(path)
    context.default_map = {**(context.default_map or {}), **found.options}
    return found


def read_broker_file(path: Path) -> BrokerFile:
    """Read a settings file.

    Raises :class:`BadSetting`, which lists every bad line, :class:`MalformedBody` and OSError.
    """
    with path.open("rb") as file:
        content = file.read(len(codecs.BOM_UTF8) + PROPERTIES_MAX_BYTES + 1)  # no more: a device may never end
    parsed = _Parsed()
    entries: dict[str, tuple[int, str, str]] = {}
    notes: list[str] = []
    for line, key, text in numbered_properties(content.removeprefix(codecs.BOM_UTF8)):
        if not key:
            parsed.problems.append(((line,), f"{text[:80]!r} is not a setting; write name=value"))
            continue
        meant = _FIELDS.get(key, key)
        if meant in entries:
            notes.append(f"{path}: {key} of line {line} replaces that of line {entries.pop(meant)[0]}")
        entries[meant] = (line, key, text.strip())
    for line, key, text in entries.values():
        parsed.take(line, key, text)
    broker, store = parsed.together(BrokerConfig(), parsed.broker), parsed.together(MessageStoreConfig(), parsed.store)
    if parsed.problems:
        said = [f"{', '.join(f'line {line}' for line in lines)}: {what}" for lines, what in sorted(parsed.problems)]
        raise BadSetting("; ".join(said))
    ignored = [f"{key} (line {line})" for line, key, _ in entries.values() if key in _WITHOUT_MEANING]
    if ignored:
        notes.append(f"{path}: RocketMQ settings that have no meaning here, ignored: {', '.join(ignored)}")
    for setting in OFTEN_IN_SECONDS:
        value = parsed.broker.get(setting)
        if isinstance(value, int) and value < 1_000:
            named = f"{path}: {rocketmq_name(setting)} of line {parsed.lines[setting]}"
            notes.append(f"{named} is {value} milliseconds, as RocketMQ reads it; a second is 1000")
    return BrokerFile(broker, store, _options(parsed), tuple(notes))


class _Parsed:
    """The values of the entries that were accepted so far.

    :ivar problems: lines, and what is wrong with them.
    :ivar lines: the line of each setting.
    """

    def __init__(self) -> None:
        self.broker: dict[str, object] = {}
        self.store: dict[str, object] = {}
        self.places: dict[str, object] = {}
        self.is_of_group = False
        self.problems: list[tuple[tuple[int, ...], str]] = []
        self.lines: dict[str, int] = {}
        broker, store = BrokerConfig(), MessageStoreConfig()
        self._rooms = (
            (broker, setting_names(broker), self.broker),
            (store, setting_names(store), self.store),
        )

    def take(self, line: int, key: str, text: str) -> None:
        """Keep the value, or note what is wrong with it."""
        try:
            self._take(line, key, text)
        except BadSetting as error:
            self.problems.append(((line,), str(error)))
        except click.BadParameter as error:
            self.problems.append(((line,), f"{key}: {error}"))

    def _take(self, line: int, key: str, text: str) -> None:
        for config, names, values in self._rooms:
            setting = names.get(key)
            if setting is not None:
                self.lines[setting] = line
                check = _CHECKS.get(setting)
                values[setting] = check(text) if check else parse_setting(config, key, text, may_be_seconds=False)
                return
        if key == _GROUP_SWITCH:
            self.is_of_group = bool(parse_value(key, text, bool))
        elif key in _PLACES:
            self.places[_PLACES[key]] = _CHECKS.get(_PLACES[key], str)(text)
        elif key not in _WITHOUT_MEANING:
            raise BadSetting(self._unknown(key))

    def together(self, config: _Config, values: Mapping[str, object]) -> _Config:
        """Return ``config`` with ``values``.

        Notes those that contradict each other, unless one of them is known to be bad.
        """
        try:
            return with_settings(config, values)
        except BadSetting as error:
            in_file = [field for field in error.fields if field in self.lines]
            if all(field in values for field in in_file):
                self.problems.append((tuple(sorted(self.lines[field] for field in in_file)), str(error)))
            return self.together(config, {name: value for name, value in values.items() if name not in error.fields})

    def _unknown(self, key: str) -> str:
        known = {*_PLACES, _GROUP_SWITCH, *_WITHOUT_MEANING, *_FIELDS}
        close = difflib.get_close_matches(key, sorted(known), n=1, cutoff=0.75)
        meant = f"; did you mean {close[0]}?" if close else " (docs/configuration.md lists all)"
        return f"there is no setting {key[:100]!r}{meant}"


def _options(parsed: _Parsed) -> dict[str, object]:
    """Return the options of ``serve`` that the file sets."""
    options = {place: value for place, value in parsed.places.items() if place == "data" or parsed.is_of_group}
    for setting, option in (
        ("broker_name", "broker_name"),
        ("cluster_name", "cluster_name"),
        ("host", "host"),
        ("port", "broker_port"),
        ("name_server_addresses", "also_register"),
    ):
        if setting in parsed.broker:
            options[option] = parsed.broker[setting]
    flush = parsed.store.get("flush_disk_type")
    if isinstance(flush, FlushDiskType):
        options["flush"] = flush.value
    return options
