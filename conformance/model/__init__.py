"""Data of the suite: graphs, transitions, states, profiles, verdicts. No input or output."""
