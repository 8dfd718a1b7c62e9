"""`python -m conformance doctor`: what this machine has, which kinds of cluster would work on it, and
what to install for those that would not. Nothing is built, downloaded or started."""

from __future__ import annotations

from conformance.doctor.diagnosis import Diagnosis, examine
from conformance.doctor.table import render

__all__ = ["Diagnosis", "examine", "render"]
