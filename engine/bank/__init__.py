"""Two banks that transfer money to each other by messages: the application of the scenarios and of ``glassmq bank``."""
