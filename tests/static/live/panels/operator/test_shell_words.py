"""Commands that the page shows: a shell reads in them the words that were meant."""

from __future__ import annotations

import shlex

from hypothesis import example, given
from hypothesis import strategies as st

words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))


@given(st.lists(words, min_size=1, max_size=4))
@example(["topics", "create", "it's", "", "a\nb", "$(rm -rf ~)", "`id`", "\\", "!!", "订单", "-x"])
def test_a_shell_reads_the_words_that_were_meant(javascript, command):
    line = javascript("live/panels/operator/shell_words.js", "commandLine", command)
    assert shlex.split(line) == [".venv/bin/glassmq", *command]


def test_plain_words_are_not_quoted(javascript):
    command = ["send", "%RETRY%g", "--name-server", "127.0.0.1:9876", 3]
    line = javascript("live/panels/operator/shell_words.js", "commandLine", command)
    assert line == ".venv/bin/glassmq send %RETRY%g --name-server 127.0.0.1:9876 3"
