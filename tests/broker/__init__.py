"""Tests of ``broker``."""
