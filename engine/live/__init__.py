"""The live engine in one process: a name server and a broker that are started, killed and started again."""
