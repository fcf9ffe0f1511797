"""The lab: a whole cluster of the unchanged engine in virtual time, as a function of scenario, seed and commands."""
