"""Tests of what is simulated of the quorum."""
