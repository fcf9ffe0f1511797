"""Writes what a soak showed: ``report.html`` (whole in itself, both languages), ``report.json``, the plots as SVG."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from html import escape
from pathlib import Path
from typing import Any

from tests.soak.history import History, percentile
from tests.soak.judge import Judgement, Outcome
from tests.soak.plots import Marks, Plot
from tests.soak.streams import Fate, StreamLedger
from tests.soak.texts import LANGUAGES, OUTCOMES, sentence, word

_RATE_WINDOW_S = 5.0
_PAGE_WINDOW_S = 10.0

_STYLE = """
body { margin: 0 auto; max-width: 980px; padding: 24px; font: 16px/1.5 system-ui, sans-serif; color: #27303f;
       background: #f5f7fa }
h1 { font-size: 26px; margin: 0 0 4px } h2 { font-size: 18px; margin: 28px 0 8px }
.verdict { font-size: 20px; font-weight: 600 } .good { color: #14693b } .bad { color: #b3261e }
.card { background: #fff; border-radius: 10px; padding: 12px 16px; margin: 12px 0; box-shadow: 0 1px 3px #0002 }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums }
td, th { padding: 4px 8px; text-align: right; border-bottom: 1px solid #e4e8ee; font-weight: 400 }
td:first-child, th:first-child, .text { text-align: left } th { color: #5d6675 }
.outcome { white-space: nowrap; font-weight: 600; width: 1% } .examples { color: #5d6675; font-size: 14px }
svg { display: block; width: 100%; height: auto } p { margin: 4px 0 }
input { position: absolute; opacity: 0 } .pick { float: right }
.pick label { padding: 4px 10px; border-radius: 6px; cursor: pointer }
input:focus-visible + label { outline: 2px solid }
html:has(#zh:checked) [lang=en], html:has(#en:checked) [lang=zh] { display: none }
input:checked + label { background: #27303f; color: #fff }
"""


def write_report(folder: Path, history: History, judgements: list[Judgement], options: Mapping[str, Any]) -> None:
    """All files of the report into ``folder``."""
    plots = {language: plots_of(history, language) for language in LANGUAGES}
    (folder / "plots").mkdir(exist_ok=True)
    for language, pictures in plots.items():
        for name, svg in pictures.items():
            (folder / "plots" / f"{name}.{language}.svg").write_text(svg, "utf-8")
    (folder / "report.html").write_text(_page(history, judgements, plots), "utf-8")
    (folder / "report.json").write_text(json.dumps(_data(history, judgements, options), indent=1) + "\n", "utf-8")


def plots_of(history: History, language: str) -> dict[str, str]:
    """Every picture in one language, by name."""
    samples = history.samples
    marks = Marks(
        max((sample.at_s for sample in samples), default=1.0), [kill.at_s for kill in history.kills], history.disk_full
    )
    page = _windows([(at_s, ms) for at_s, ms in history.page_answers if ms is not None])

    def looks(figure: str) -> list[tuple[float, float]]:
        values = ((sample.at_s, getattr(sample, figure)) for sample in samples)
        return [(at_s, value) for at_s, value in values if value is not None]

    def text(name: str) -> str:
        return word(name, language)

    found = {
        "rates": Plot(
            text("rates"),
            [(text(f"rates_{name}"), _rates(looks(name))) for name in ("acknowledged", "consumed")],
            marks,
        ),
        "sends": Plot(
            text("sends"),
            [
                ("p50", [(w.at_s, w.p50_ms) for w in history.sends]),
                ("p99", [(w.at_s, w.p99_ms) for w in history.sends]),
            ],
            marks,
            logarithmic=True,
        ),
        "lag": Plot(text("lag"), [("", looks("lag"))], marks),
        "memory": Plot(
            text("memory"),
            [(text("memory_own"), looks("own_mib")), (text("memory_resident"), looks("resident_mib"))],
            marks,
        ),
        "fds": Plot(text("fds"), [("", looks("fds"))], marks),
        "disk": Plot(text("disk"), [("", looks("disk_mib"))], marks),
        "page": Plot(
            text("page"),
            [(name, [(at_s, values[index]) for at_s, values in page]) for index, name in enumerate(("p50", "p99"))],
            marks,
            logarithmic=True,
        ),
    }
    return {name: plot.svg() for name, plot in found.items()}


def _rates(totals: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Per second, over windows of a few seconds."""
    found = []
    at_s, total = totals[0] if totals else (0.0, 0.0)
    for now_s, now in totals:
        if now_s - at_s >= _RATE_WINDOW_S:
            found.append((now_s, (now - total) / (now_s - at_s)))
            at_s, total = now_s, now
    return found


def _windows(answers: list[tuple[float, float]]) -> list[tuple[float, tuple[float, float]]]:
    """p50 and p99 of windows of some seconds."""
    windows: dict[int, list[float]] = {}
    for at_s, ms in answers:
        windows.setdefault(int(at_s // _PAGE_WINDOW_S), []).append(ms)
    return [
        (number * _PAGE_WINDOW_S, (percentile(values, 0.5), percentile(values, 0.99)))
        for number, values in sorted(windows.items())
    ]


# --- page ----------------------------------------------------------------------------------------------------------


def _page(history: History, judgements: list[Judgement], plots: Mapping[str, Mapping[str, str]]) -> str:
    parts = [f'<section lang="{language}">{_in(language, history, judgements)}</section>' for language in LANGUAGES]
    pictures = [
        f'<div class="card" lang="{language}">{svg}</div>' for language in LANGUAGES for svg in plots[language].values()
    ]
    marks = [f'<p lang="{language}">{word("marks", language)}</p>' for language in LANGUAGES]
    return (
        '<!doctype html>\n<html><head><meta charset="utf-8"><title>GlassMQ soak</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_STYLE}</style></head>\n<body>\n"
        '<div class="pick"><input type="radio" name="language" id="en" checked><label for="en">English</label>'
        '<input type="radio" name="language" id="zh"><label for="zh">中文</label></div>\n'
        + "\n".join([*parts, *marks, *pictures])
        + "\n</body></html>\n"
    )


def _in(language: str, history: History, judgements: list[Judgement]) -> str:
    """Everything but the plots, in one language."""

    def text(name: str, **figures: object) -> str:
        return escape(word(name, language, **figures))

    failed = sum(judgement.outcome is Outcome.FAILED for judgement in judgements)
    verdict = text("bad", count=failed, of=len(judgements)) if failed else text("good")
    parts = [
        f"<h1>{text('title', minutes=history.loaded_s / 60)}</h1>",
        f'<p class="verdict {"bad" if failed else "good"}">{verdict}</p>',
        f'<div class="card"><table>{"".join(_row(judgement, language) for judgement in judgements)}</table></div>',
    ]
    if history.left_out:
        parts.append(f"<h2>{text('left_out')}</h2>")
        parts += [f"<p>{escape(reason)}</p>" for reason in history.left_out]
    names = ("stream", "clients", "acknowledged", "in_doubt", "consumed", "again", "refused", "lost")
    rows = "".join(_stream_row(ledger, bool(history.broke)) for ledger in history.ledgers)
    parts.append(f"<h2>{text('streams')}</h2>")
    heads = "".join(f"<th>{text(name)}</th>" for name in names)
    parts.append(f'<div class="card"><table><tr>{heads}</tr>{rows}</table></div>')
    if history.kills:
        parts.append(f"<h2>{text('kills')}</h2>")
        kills = (text("kill", at=_clock(kill.at_s), start=kill.start_s) for kill in history.kills)
        parts.append(f'<div class="card">{"<br>".join(kills)}</div>')
    return "\n".join(parts)


def _row(judgement: Judgement, language: str) -> str:
    outcome = OUTCOMES[judgement.outcome][LANGUAGES.index(language)]
    colour = {Outcome.PASSED: "good", Outcome.FAILED: "bad"}.get(judgement.outcome, "")
    examples = judgement.figures.get("examples")
    shown = f'<br><span class="examples">{escape(_listed(examples))}</span>' if examples else ""
    said = escape(sentence(judgement, language))
    return f'<tr><td class="outcome {colour}">{outcome}</td><td class="text">{said}{shown}</td></tr>'


def _listed(examples: dict[str, list[int]] | list[object]) -> str:
    """Numbers by stream, or one thing after the other."""
    if isinstance(examples, dict):
        return "; ".join(f"{stream}: {', '.join(map(str, numbers))} …" for stream, numbers in examples.items())
    return "; ".join(map(str, examples))


def _stream_row(ledger: StreamLedger, is_unknown: bool) -> str:
    """``is_unknown``: nobody looked what is missing."""
    stream = ledger.stream
    clients = f"{stream.sender} → {stream.consumer or '–'}"
    lost = ledger.lost(Fate.CONSUMED if stream.consumer else Fate.STORED)
    figures: Iterable[int] = (
        ledger.acknowledged,
        ledger.in_doubt,
        ledger.consumed,
        ledger.consumed_again,
        ledger.refused,
    )
    cells = "".join(f"<td>{figure:,}</td>" for figure in figures)
    cells += f"<td>{'–' if is_unknown else f'{len(lost):,}'}</td>"
    return f"<tr><td>{stream.name}</td><td>{clients}</td>{cells}</tr>"


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


# --- data ----------------------------------------------------------------------------------------------------------


def _data(history: History, judgements: list[Judgement], options: Mapping[str, Any]) -> dict[str, Any]:
    """Everything but the fates of single messages."""
    return {
        "options": {name: str(value) for name, value in options.items()},
        "judgements": [judgement.to_dict() for judgement in judgements],
        "left_out": history.left_out,
        "loaded_s": history.loaded_s,
        "kills": [asdict(kill) for kill in history.kills],
        "disk_full": history.disk_full,
        "streams": [
            {
                **asdict(ledger.stream),
                "acknowledged": ledger.acknowledged,
                "in_doubt": ledger.in_doubt,
                "consumed": ledger.consumed,
                "consumed_again": ledger.consumed_again,
                "refused": ledger.refused,
            }
            for ledger in history.ledgers
        ],
        "samples": [asdict(sample) for sample in history.samples],
        "sends": [asdict(window) for window in history.sends],
        "page_answers": history.page_answers,
        "tracebacks": history.tracebacks,
        "ended_early": history.ended_early,
    }
