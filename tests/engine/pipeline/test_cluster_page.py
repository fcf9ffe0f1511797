"""The section "Running on a cluster" of ``docs/pipeline.md``: its blocks run in their order, as they stand there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import venv
from importlib.metadata import distribution
from pathlib import Path

import pyarrow.dataset as ds
import pyspark
import pytest

from engine.pipeline.java import find_java_home
from engine.protocol.message.message import Message
from tests.support.live.live_server import LiveServer

PROJECT = Path(__file__).resolve().parents[3]
SECTION = (PROJECT / "docs" / "pipeline.md").read_text().split("## Running on a cluster\n")[1].split("\n## ")[0]
#: What pip finds installed instead of downloading it, apart from PySpark.
OF_ENVIRONMENT = ("numpy", "pandas", "pyarrow", "python-dateutil", "pytz", "six", "tzdata")
READ = ["stored: 20", "streamed: 20"]
SUBMITTED = ["Packages of the executors", "Programs", "Ways to submit a program"]
PACKED = ["Programs", "Packed environment"]


def blocks(title):
    """Language and text of each block of a part of the section, without indentation."""
    part = SECTION.split(f"### {title}\n")[1].split("\n### ")[0]
    found = re.findall(r"^( *)```(\w*)\n(.*?)^ *```$", part, re.MULTILINE | re.DOTALL)
    return [(language, re.sub(f"^{indentation}", "", text, flags=re.M)) for indentation, language, text in found]


PARTS = [title for title in re.findall(r"^### (.+)$", SECTION, re.MULTILINE) if blocks(title)]


def install(environment, names, put):
    """Put packages of this Python and what pip knows of them into an environment, before it is made."""
    site = environment / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    site.mkdir(parents=True)
    for installed in map(distribution, names):
        for entry in {path.parts[0] for path in installed.files or ()} - {"..", "__pycache__"}:
            put(installed.locate_file(entry), site / entry)


def copy(source, target):
    if source.is_file():
        shutil.copy(source, target)
    else:
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("tests", "include", "__pycache__"))


@pytest.fixture
def machine(tmp_path):
    """The reader's folders, and an environment with all that Spark and this project need, but not this project."""
    folders = {name: tmp_path / name for name in ("driver", "spark", "work", "dist")}
    venv.create(folders["driver"])
    (site,) = folders["driver"].glob("lib/*/site-packages")
    (site / "needed.pth").write_text("\n".join(path for path in sys.path if path.endswith("site-packages")))
    pip = folders["driver"] / "bin" / "pip"
    pip.write_text('#!/bin/sh\nexec python -m pip "$@"\n')
    pip.chmod(0o755)
    # Spark's worker keeps what it unpacks here.
    folders["spark"].mkdir()
    for path in Path(pyspark.__file__).parent.iterdir():
        (folders["spark"] / path.name).symlink_to(path)
    of_spark = (*OF_ENVIRONMENT, "protobuf", "py4j", "pyspark")
    install(tmp_path / "spark-python", of_spark, lambda source, target: target.symlink_to(source))
    install(folders["work"] / "environment", OF_ENVIRONMENT, copy)
    yield tmp_path
    shutil.rmtree(folders["spark"])
    shutil.rmtree(folders["work"])


def follow(parts, machine, name_server, master):
    """Run what the parts say and return what was printed. Addresses, folders and the source of GlassMQ are replaced."""
    replaced = {
        r"/opt/spark-python": machine / "spark-python",
        r"spark://host:7077": f"'{master}'",
        r"broker-host:9876": name_server,
        r"/data/orders": machine / "orders",
        r"'glassmq\[spark\]'": f"--editable '{PROJECT}[spark]'",
        r"\bdist(?=[/ ])": machine / "dist",
    }
    script = ["set -e"]
    for language, text in (block for part in parts for block in blocks(part)):
        for pattern, value in replaced.items():
            text = re.sub(pattern, str(value), text)
        if language == "python":
            (machine / "work" / text.split()[1]).write_text(text)
            continue
        assert language == "console"
        commands = re.findall(r"^\$ (.*)$", text, re.MULTILINE)
        in_checkout = any(" -m scripts." in command for command in commands)
        script += [f"cd {PROJECT if in_checkout else machine / 'work'}", *commands]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYSPARK_", "PYTHON"))}
    path = os.pathsep.join(f"{machine / folder / 'bin'}" for folder in ("driver", "spark"))
    environment |= {"PATH": f"{path}{os.pathsep}{environment['PATH']}", "SPARK_HOME": str(machine / "spark")}
    environment |= {"JAVA_HOME": str(find_java_home()), "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run(["bash", "-c", "\n".join(script)], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, (done.stdout + done.stderr)[-6_000:]
    return re.findall(r"^(?:stored|streamed): \d+$", done.stdout, re.MULTILINE)


@pytest.fixture
def name_server(tmp_path):
    with LiveServer(tmp_path / "data", page=False) as server:
        server.create_topic("Orders", 2)
        server.send(*[Message("Orders", b"%d" % number) for number in range(20)])
        yield server.name_servers[0]


def test_every_block_of_the_section_is_run():
    assert set(PARTS) == {*SUBMITTED, *PACKED}
    assert SECTION.count("```") == 2 * sum(len(blocks(part)) for part in PARTS)


@pytest.mark.timeout(1_800)
def test_a_packed_environment_brings_executors_the_source_and_its_packages(spark_installed, machine, name_server):
    """Its Python is at a relative path: only where it was unpacked can executors start it. It has no Flask."""
    assert follow(PACKED, machine, name_server, "local-cluster[2,1,1024]") == READ
    (packed,) = (machine / "work" / "environment").glob("lib/*/site-packages")
    assert (packed / "glassmq_spark").is_dir()
    assert not list(packed.glob("flask*"))


@pytest.mark.timeout(1_800)
def test_each_documented_way_to_submit_a_program_reads_and_streams(spark_installed, machine, name_server):
    """The workers' Python is not the driver's, and has nothing of GlassMQ."""
    assert follow(SUBMITTED, machine, name_server, "local[2]") == READ * 3
    assert ds.dataset(machine / "orders", exclude_invalid_files=True).count_rows() == 20
