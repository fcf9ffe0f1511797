"""Why a message came twice, late, not yet or never: the chain of events that made it so, in words."""
