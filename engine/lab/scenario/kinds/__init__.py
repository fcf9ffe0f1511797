"""The kinds of nodes in a scenario: the specification and checks of each, and the table of them."""
