"""Tests of the quorum."""
