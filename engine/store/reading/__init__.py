"""Messages found and read for a consumer."""
