"""The port between the engine and the world, and the two worlds behind it: live and lab."""
