"""Tests of the controller's mind."""
