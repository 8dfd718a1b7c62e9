"""Processes that end with the test run, and their directories. Imported by reapers, which start without
site-packages: nothing is imported here."""
