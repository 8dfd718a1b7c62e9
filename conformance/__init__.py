"""Conformance suite for operators of DynamoGraphDeployments: record everything, judge afterwards."""

from __future__ import annotations

__version__ = "0.1.0"
