"""Lessons: texts, predictions and actions about a world of the lab, checked by the engine that runs in it.

A lesson is a folder ``tutorials/NN-name`` (docs/lessons.md describes how to write one). Its world is a scenario of the
lab like any other, opened by the page over Socket.IO (:mod:`app.lab`) under the lesson's name.

``GET /tutorials/<name>`` puts this into the page (every text is ``{en, zh}``; keys that end in ``html``, and
``question``, ``text``, ``hints``, hold safe HTML; the others plain text)::

    name, scenario, minutes, title, intro_html, summary_html
    needs          {number, name} of the lessons that it builds on
    begin          actions, see below: they bring the world to where the lesson begins; empty: at its first event
    steps          id, heading, html
                   after_html   null until the step is done
                   point_at     targets, see app.lessons.stage_targets
                   look_for     target -> what to look for there, in plain words, where the lesson has a text for it
                   predict      null, or {kind: "choice" | "number" | "click", question, choices: [{id, text}],
                                targets: what may be clicked, unit}; never the answer
                   hints
                   action       what the step's button sends, in order: {control: "run-until", on, node?, contains?} is
                                the event "control" with {action: "run-until", ...}, {command: "crash", target} is
                                "command" with {kind: "crash", target}; the next one waits until nothing plays and
                                nothing is busy. Empty: a step to read
                   action_name  null without an action
                   start_link   opens the world as the step finds it: ``open {link}``
    progress       ids of the steps that this browser has done
    predictions    step id -> {prediction, right}
    next, previous names in the order of the course, or null

``POST /api/lessons/<name>/check {world, step, prediction?}`` -> ``done`` (the condition holds now, in that world as it
is looked at), ``was_done``, ``html`` and ``after_html`` with the figures of that world, ``prediction`` (null, or
``{right, answer}``, and of a wrong one ``why``, in each language or null), ``progress``, ``predictions``. ``POST
/api/lessons/<name>/reset`` forgets the progress.
"""
