"""The user interfaces: the command line, the page server, and the live host that runs the engine."""
