"""What one change on the stage makes the browser compute again: itself, and not the lanes and cards around it."""

from __future__ import annotations

import json

from tests.e2e.lab.lab_page import run_to_ms
from tests.e2e.lab.stage.test_stage_map import opened_at, settled
from tests.e2e.scenes import empty_scene

CHANGES = {
    "cell": "$('.cells-row').append($('.cells-row .cell').cloneNode(true))",
    "frame": "$('.flights').append($('.link-sign').cloneNode(true))",
    "call": "$('.listener-calls').append($('.listener-call').cloneNode(true))",
    "lag": "$('.queue-lag').firstChild.data = '7'",
}
TRACED = ["devtools.timeline", "blink.user_timing", "disabled-by-default-devtools.timeline.invalidationTracking"]
COMPUTED_AGAIN = ("StyleRecalcInvalidationTracking", "LayoutInvalidationTracking")
#: The changed element and its contents; the whole stage of this scenario has a thousand.
MOST = 16


def test_a_change_on_the_stage_computes_nothing_else_again(serve, open_page):
    page = opened_at(open_page, serve(empty_scene()), "big-stage", "desk")
    run_to_ms(page, 4_000)
    settled(page)
    browser = page.context.browser
    browser.start_tracing(page=page, categories=TRACED)
    for name, change in CHANGES.items():
        page.evaluate(
            f"""() => {{
                const $ = (css) => document.querySelector(css);
                document.body.offsetHeight;
                performance.mark("{name} begins");
                {change};
                document.body.offsetHeight;
                performance.mark("{name} ends");
            }}"""
        )
    events = json.loads(browser.stop_tracing())["traceEvents"]
    marks = {event["name"]: event for event in events if event["name"].endswith((" begins", " ends"))}
    for name in CHANGES:
        begin, end = marks[f"{name} begins"], marks[f"{name} ends"]
        touched = [
            event["args"]["data"]["nodeName"]
            for event in events
            if event["name"] in COMPUTED_AGAIN
            and event["pid"] == begin["pid"]
            and begin["ts"] <= event["ts"] <= end["ts"]
        ]
        assert 0 < len(touched) <= MOST, (name, touched)
