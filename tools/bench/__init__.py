"""Measures what a run costs, and writes docs/benchmarks.md: `make bench`."""
