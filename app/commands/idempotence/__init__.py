"""``glassmq idempotence`` and its parts."""
