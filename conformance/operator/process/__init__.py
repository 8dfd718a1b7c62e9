"""Operators as processes beside a control plane of the suite's own, on this machine."""
