"""Lab seeds by the hundred thousand: spread over Spark or processes, summed up, kept so that a run can go on."""
