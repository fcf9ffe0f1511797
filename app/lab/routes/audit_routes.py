"""The audit of a world over HTTP: what would be audited, and its start, once the run is exported."""

from __future__ import annotations

from flask import Blueprint, Response

from app.lab.foundation.browser_identity import browser_of_request
from app.lab.foundation.refusal import LabRefused, fields_refused
from app.lab.routes.audits import AuditPlan, LabAudits, plan_of, producers_without_numbers
from app.lab.session.host import LabHost
from app.lab.session.worlds import LabWorlds
from app.picture.pages.audit import OfferedAudit, StartedAudit
from app.web.api import json_answer
from app.web.api_parameters import read_json
from engine.fields.field import Field
from engine.lab.run.run import LabRun


def add_audit_routes(lab: Blueprint, host: LabHost, audits: LabAudits) -> None:
    """Add the routes to the lab's blueprint."""

    @lab.get("/api/lab/<world>/audit")
    def plan(world: str) -> Response:
        browser = browser_of_request()
        answer = host.ask(lambda worlds: _plan_json(_run_of(worlds, world, browser)))
        try:
            audits.pipeline()
        except LabRefused as refusal:
            answer["problem"] = dict(refusal.text)
        return json_answer(answer)

    @lab.post("/api/lab/<world>/audit")
    def begin(world: str) -> Response:
        browser = browser_of_request()
        with fields_refused():
            event = read_json(Field("event", "integer"))["event"]
        audits.pipeline()
        plan: AuditPlan = host.ask(lambda worlds: plan_of(_run_at(event, _run_of(worlds, world, browser))))
        run_id = audits.start(plan)
        started: StartedAudit = {"run": run_id, "address": f"/pipeline#run-{run_id}"}
        return json_answer(started, 201)


def _run_of(worlds: LabWorlds, world: str, browser: str | None) -> LabRun:
    """Return the run at the event that is viewed."""
    session = worlds.session(world, browser)
    if session.player.has_job:
        raise LabRefused("server_busy")
    return session.player.run_looked_at()


def _run_at(event: int, run: LabRun) -> LabRun:
    """Return the run at the event that the person saw, though another page may have moved the world meanwhile."""
    if event != run.event_number:
        raise LabRefused("audit_elsewhere", event=run.event_number)
    return run


def _plan_json(run: LabRun) -> OfferedAudit:
    unnumbered = producers_without_numbers(run)
    try:
        plan = plan_of(run)
    except LabRefused as refusal:
        return {"topics": [], "groups": [], "silent": [], "unnumbered": unnumbered, "problem": dict(refusal.text)}
    return {
        "topics": [*plan.topics],
        "groups": [*plan.groups],
        "silent": [*plan.silent],
        "unnumbered": unnumbered,
        "problem": None,
    }
