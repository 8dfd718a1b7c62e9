"""Operators in the cluster: installed as they ship, in pods, under their own ServiceAccount."""
