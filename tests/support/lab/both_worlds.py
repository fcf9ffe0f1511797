"""Runs one scenario in the lab and on real sockets and files: what the port promises must hold in each."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import uvloop

from engine.runtime.lab.lab_runtime import LabMachines
from engine.runtime.live.live_runtime import LiveRuntime
from engine.runtime.port import Runtime

WORLDS = ("lab", "asyncio", "uvloop")

Scenario = Callable[[Runtime, Runtime], Awaitable[None]]


def run_scenario(kind: str, folder: Path, scenario: Scenario) -> None:
    """Run ``scenario(server, client)`` with two nodes of the world ``kind``."""
    if kind == "lab":
        with LabMachines(seed=1) as world:
            server, client = world.node("server"), world.node("client")
            world.run(_as_coroutine(scenario(server, client)), node="server")
        return

    async def live() -> None:
        nodes = [LiveRuntime("server", folder / "server", seed=1), LiveRuntime("client", folder / "client", seed=1)]
        try:
            async with asyncio.timeout(60):
                await scenario(*nodes)
        finally:
            for node in nodes:
                await node.close()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop if kind == "uvloop" else asyncio.new_event_loop) as runner:
        runner.run(live())


async def _as_coroutine(work: Awaitable[None]) -> None:
    await work
