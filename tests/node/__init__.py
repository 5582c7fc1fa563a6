"""Tests of what a node is told, and of its directories."""
