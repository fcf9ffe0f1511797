"""The runtime of a client whose user passed none: a live one, with RocketMQ's folder for broadcast offsets."""

from __future__ import annotations

from pathlib import Path

from engine.client.foundation.client_config import ClientConfig
from engine.client.foundation.service_state import ServiceLife
from engine.runtime.live.live_runtime import LiveRuntime

#: The folder below the home directory; RocketMQ: ``rocketmq.client.localOffsetStoreDir``.
LOCAL_OFFSET_FOLDER = ".rocketmq_offsets"


def make_default_runtime(config: ClientConfig, life: ServiceLife, *, keeps_files: bool) -> LiveRuntime:
    """Create a live runtime with the encryption of ``config`` that is closed at the end of ``life``. With
    ``keeps_files`` its disk is ``~/.rocketmq_offsets``.

    Raises ``TlsUnusable`` for unusable certificates.
    """
    folder = Path.home() / LOCAL_OFFSET_FOLDER if keeps_files else None
    runtime = LiveRuntime("client", folder, client_tls=config.tls)
    life.ends_with(runtime.close)
    return runtime
