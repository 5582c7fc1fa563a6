"""Agreement with strangers: each suite is judged by something we did not write."""
