"""The state of a world as the page shows it."""
