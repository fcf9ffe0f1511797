"""Lab seeds in large numbers: spread over Spark or processes, summarised, and saved so that a run can be continued."""
