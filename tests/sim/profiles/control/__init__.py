"""Tests of the ``control`` profile."""
