"""A world in words, moment by moment: what has just happened, and which happenings matter to somebody who looks on."""
