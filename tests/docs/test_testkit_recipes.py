"""The recipes of ``docs/testkit/testkit.md`` pass, and each fails for the service that it warns of."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
RECIPES = PROJECT / "docs" / "examples" / "testkit"

#: Recipe -> what a careless service has instead, and what the failure says.
CARELESS = {
    "test_lost_commit.py": (
        "LocalTransactionState.COMMIT_MESSAGE if is_booked else LocalTransactionState.ROLLBACK_MESSAGE",
        "LocalTransactionState.UNKNOW",
        "transfers does not have at least 1 with key 'transfer-17'",
    ),
    "test_dead_letter.py": (
        "ConsumeConcurrentlyStatus.RECONSUME_LATER",
        "ConsumeConcurrentlyStatus.CONSUME_SUCCESS",
        "SCHEDULE_TOPIC_XXXX does not have at least 1",
    ),
    "billing_service.py": ("if message.keys[0] not in billed", "", "['order-17', 'order-17'] == ['order-17']"),
    "test_order_after_rebalance.py": (
        "self.note(messages[0])",
        "asyncio.get_running_loop().call_later(0.05 * (messages[0].queue_offset % 2), self.note, messages[0])",
        "assert {'17':",
    ),
    "test_broker_restart.py": ("while key not in self.sent:", "if True:", "does not have a message with key 'order-7'"),
}


def run_recipes(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    # Where GlassMQ is installed from this tree the plugin would be loaded by its entry point as well.
    environment = {**os.environ, "PYTHONPATH": str(PROJECT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "pytest_glassmq", "-c", os.devnull]
    return subprocess.run(
        [*command, f"--rootdir={folder}", *options, str(folder)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=500,
    )


@pytest.mark.thorough
def test_all_recipes_pass() -> None:
    result = run_recipes(RECIPES)
    assert "5 passed" in result.stdout, result.stdout + result.stderr


@pytest.mark.thorough
@pytest.mark.parametrize("careless", CARELESS)
def test_a_recipe_catches_the_service_that_it_warns_of(careless: str, tmp_path: Path) -> None:
    right, wrong, failure = CARELESS[careless]
    for path in RECIPES.glob("*.py"):
        shutil.copy(path, tmp_path)
    text = (tmp_path / careless).read_text()
    assert right in text
    (tmp_path / careless).write_text(text.replace(right, wrong))
    recipe = "consumer_that_dies" if careless == "billing_service.py" else careless.removesuffix(".py")
    result = run_recipes(tmp_path, "-k", recipe)
    assert failure in result.stdout, result.stdout
