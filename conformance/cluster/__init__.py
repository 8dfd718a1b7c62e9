"""Clusters to test on: where their programs come from, how they start, and that nothing survives
them."""
