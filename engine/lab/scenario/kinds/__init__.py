"""The kinds of nodes in a scenario: the specification, parser and checks of each, and the table of them."""
