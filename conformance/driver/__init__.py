"""Does things to a cluster and waits for verdict moments. Knows no checker: it never judges."""
