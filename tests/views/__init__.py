"""Tests of what clients are told."""
