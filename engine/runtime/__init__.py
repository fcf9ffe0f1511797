"""The port between the engine and the outside world, and its two implementations: live and lab."""
