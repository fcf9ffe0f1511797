"""Job ``transaction-reconciliation``: what became of every half message, and whether two banks agree with it."""
