"""Tests of the metadata profile."""
