"""Judging: pure functions from a recorded history to findings and a verdict."""
