"""Recording: the recorder process, what a test worker reads of it, and the suite's own journal."""
