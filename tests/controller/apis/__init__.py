"""Tests of what a controller answers."""
