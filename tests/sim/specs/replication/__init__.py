"""Tests of the port of the replication specification."""
