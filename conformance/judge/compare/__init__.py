"""Comparing: two states of a graph, and what a user wrote with what runs."""
