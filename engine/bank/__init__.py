"""Two banks that move money between them by message: the application of the scenarios and of ``glassmq bank``."""
