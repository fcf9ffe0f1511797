"""Explanations why a message was delivered twice, late, not yet or never: the chain of causes, in words."""
