"""``glassmq idempotence`` and its subcommands."""
