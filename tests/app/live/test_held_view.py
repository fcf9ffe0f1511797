"""The page's view of held frames."""

from __future__ import annotations

from app.live import held_view as module
from app.live.held_view import held_view
from app.observation.client_names import ClientNames
from engine.faults.fault_rule import FaultAction
from engine.faults.frame_meaning import request_words
from engine.protocol.request_code import RequestCode
from tests.engine.faults.frame_path import frame_paths


def test_what_a_held_frame_says_is_read_from_its_body_once_however_often_pages_look(monkeypatch):
    reported = []

    def report(*arguments):
        reported.append(arguments)
        return request_words(*arguments)

    monkeypatch.setattr(module, "request_words", report)
    with frame_paths() as frame_path:
        frame_path.add(FaultAction.HOLD)
        frame_path.wire().ask(RequestCode.HEART_BEAT, body=b'{"clientID":"c","producerDataSet":[{"groupName":"g1"}]}')
        (held,) = frame_path.injector.held.frames
        views = [held_view(held, "broker-a", ClientNames(), now_ms) for now_ms in (1, 2, 3)]
    assert ["g1" in view["meaning"]["en"] for view in views] == [True] * 3
    assert len(reported) == 1
