"""Lab worlds in the browser: owners, pace, past states, and the view that the page draws.

A page opens a world over the Socket.IO namespace ``/lab``: it sends the requests of :mod:`app.lab.session.requests`,
and commands (:mod:`engine.lab.scenario.command`); it gets the messages of :mod:`app.picture.session.messages`, whose
view is a :class:`app.picture.world.playing.PlayedWorld`.

A view of the past is read-only: play and commands there begin a new future from that event (a fork), step goes forward
through what was recorded.
"""
