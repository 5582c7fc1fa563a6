"""Measurements: one module per bench, each yielding rows that compare in the same run."""
