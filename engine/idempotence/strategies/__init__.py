"""Ways to do the work of a message once, and ways that look as if they did."""
