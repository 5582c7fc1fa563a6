"""One simulated cluster, one named situation: stories that may be read from top to bottom."""
