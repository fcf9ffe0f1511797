"""Observes the live engine, in the engine's thread, and builds the parts of :mod:`app.picture.live_state`."""
