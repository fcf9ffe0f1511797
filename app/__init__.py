"""What people see and type: command line, page server, and the live host that runs the engine."""
