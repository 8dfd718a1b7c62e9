"""Does things to a cluster and waits for checkpoints. Knows no checker: it never judges."""
