"""Checkers: pure functions from a history to findings. One module a checker."""
