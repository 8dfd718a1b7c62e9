"""Recording: the recorder process, what a test worker reads of it, and the suite's own journal."""

from __future__ import annotations

from conformance.record.journal import Journal
from conformance.record.layout import Ready
from conformance.record.oplog import OperatorLog
from conformance.record.process import RecorderProcess, unseen_kinds
from conformance.record.tail import Tail
from conformance.record.verify import verify

__all__ = ["Journal", "OperatorLog", "Ready", "RecorderProcess", "Tail", "unseen_kinds", "verify"]
