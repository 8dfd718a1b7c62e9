"""Checkers of a whole run: what stayed at rest until its end, and what is left after it."""
