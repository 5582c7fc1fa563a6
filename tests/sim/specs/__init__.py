"""Tests of ported specifications."""
