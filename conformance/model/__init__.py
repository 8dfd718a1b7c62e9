"""What the suite talks about: graphs, transitions, cluster states, profiles, verdicts. Pure data."""
