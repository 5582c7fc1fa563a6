"""Tests of the metadata image, and what they share: histories, a naive twin, a shell."""
