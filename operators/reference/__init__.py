"""The suite's own yardstick: a small, correct operator for DynamoGraphDeployments.

It runs as ``python -m reference`` with the folder above this one on ``PYTHONPATH`` and needs
urllib3 and PyYAML beside the standard library. Nothing here knows the conformance suite:
to the suite this is one more program that talks to the Kubernetes API.
"""
