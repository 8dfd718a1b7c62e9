"""Operators under test: their profiles, how one is installed and run beside a control plane."""
