"""A small lesson in a folder of its own, to be broken by tests."""

from __future__ import annotations

SCENARIO = """\
title: {en: Small, zh: 小}
about: {en: Small., zh: 小。}
nodes:
  N1: {role: name_server}
  B1: {role: broker}
  P1: {role: producer, group: p, traffic: {topic: T, count: 3, every_ms: 1000, key: "k-{n}", body: "b", queue: 0}}
  C1: {role: consumer, group: g, topic: T}
topics: {T: {queues: 1}}
"""

STEPS = """\
minutes: 5
steps:
  - id: first
    point_at: [node B1]
    predict:
      kind: choice
      choices:
        yes: count(history.sent) = 1
        no: count(history.sent) = 0
    action:
      - {control: run-until, on: sent}
    done_when: count(history.sent) >= 1
  - id: second
    predict: {kind: number, answer: nodes.B1.topics.T.queues.0.max, unit: {en: messages, zh: 条}}
    action:
      - {command: pause-node, target: C1}
      - {control: run-until, on: sent, contains: k-1}
    done_when: count(history.sent) >= 2
  - id: third
"""

ENGLISH = """\
# Small
An intro.

## first: One
Look.
### Predict
Is it?
- yes: Yes.
- no: No.
### Do
Send
### Hint
Think.
### After
It is {{ count(history.sent) }}.

## second: Two
Again.
### Predict
How many?
### Do
Send again

## third: Three
Read.

## summary
The end.
"""

CHINESE = """\
# 小
介绍。

## first: 一
看。
### Predict
是吗？
- yes: 是。
- no: 否。
### Do
发送
### Hint
想想。
### After
是 {{ count(history.sent) }}。

## second: 二
再来。
### Predict
多少？
### Do
再发送

## third: 三
读。

## summary
结束。
"""

FILES = {"scenario.yaml": SCENARIO, "steps.yaml": STEPS, "lesson.en.md": ENGLISH, "lesson.zh.md": CHINESE}


def write_lesson(folder, *changes):
    """The lesson's folder in ``folder``; each change is (file, old, new)."""
    texts = dict(FILES)
    for file, old, new in changes:
        assert old in texts[file], old
        texts[file] = texts[file].replace(old, new, 1)
    place = folder / "07-small"
    place.mkdir(exist_ok=True)
    for file, text in texts.items():
        (place / file).write_text(text, encoding="utf-8")
    return place
