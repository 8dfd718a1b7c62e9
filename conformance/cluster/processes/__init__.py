"""Processes that end with the test run. Reapers have no site-packages: nothing is imported here."""
