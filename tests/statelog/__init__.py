"""Tests of the state log."""
