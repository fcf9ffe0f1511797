"""Why a message came twice, late, not yet or never: the chain of its causes, in words."""
