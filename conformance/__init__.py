"""Conformance suite for operators of DynamoGraphDeployments: record everything, judge afterwards."""

__version__ = "0.1.0"
