"""Tests of the raft specification's port."""
