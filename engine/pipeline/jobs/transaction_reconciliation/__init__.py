"""Job ``transaction-reconciliation``: the outcome of every half message, and whether two banks agree with it."""
