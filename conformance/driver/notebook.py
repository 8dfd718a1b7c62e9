"""What a case did so far: steps that wait for their checkpoint, and the journal of the rest."""

from __future__ import annotations

import dataclasses
import time
from typing import Any

from conformance.driver.requests import Sent
from conformance.history.records import Checkpoint, Expect, Foreign, Record, Step
from conformance.model.transition import ChangeKind
from conformance.record.journal import Journal


class Notebook:
    """Names steps, keeps them until a checkpoint judges them, then journals both."""

    def __init__(self, journal: Journal, *, namespace: str) -> None:
        self._journal = journal
        self._namespace = namespace
        self.pending: list[Step] = []
        """Steps since the last checkpoint."""

    @property
    def records(self) -> list[Record]:
        """Everything so far, steps that wait for their checkpoint last."""
        return [*self._journal.records, *self.pending]

    @property
    def steps(self) -> list[Step]:
        """Every step so far."""
        return [record for record in self.records if isinstance(record, Step)]

    @property
    def checkpoints(self) -> list[Checkpoint]:
        """Every checkpoint so far."""
        return [record for record in self._journal.records if isinstance(record, Checkpoint)]

    @property
    def others(self) -> frozenset[str]:
        """Uids of objects of others that the case put there."""
        return frozenset(r.uid for r in self._journal.records if isinstance(r, Foreign))

    def sent(self, sent: Sent, *, expect: Expect | None, name: str, **fields: Any) -> Step:
        """Note a request with its answer; `fields` are the rest of the Step."""
        metadata = sent.metadata
        return self._add(
            Step(
                name=self._unique(name),
                namespace=self._namespace,
                expect=Expect.PROMISE if expect is None else expect,
                request=sent.request,
                sent_at=sent.sent_at,
                answered_at=sent.answered_at,
                code=sent.answer.code,
                answer=sent.summary,
                generation_before=sent.generation_before,
                revision_before=sent.revision_before,
                generation_after=int(metadata.get("generation", sent.generation_before)),
                revision_after=int(metadata.get("resourceVersion", 0)),
                **fields,
            )
        )

    def unsent(self, name: str, kinds: tuple[ChangeKind, ...], **fields: Any) -> Step:
        """Note what was done without a request: idling, the operator itself, a moot step."""
        now = time.time()
        given: dict[str, Any] = {
            "target": "", "target_kind": "", "door": "", "expect": Expect.RECONCILE,
            "moves_generation": False, **fields,
        }  # fmt: skip
        return self._add(
            Step(
                name=self._unique(name),
                kinds=kinds,
                namespace=self._namespace,
                judged=True,
                request={},
                sent_at=now,
                answered_at=now,
                code=0,
                **given,
            )
        )

    def expect(self, what: Expect) -> None:
        """Fix what the waiting steps may end as, where a step has not fixed it itself."""
        self.pending = [
            dataclasses.replace(step, expect=what) if step.expect is Expect.PROMISE else step
            for step in self.pending
        ]

    def judged_by(self, checkpoint: Checkpoint) -> None:
        """Journal the waiting steps and the checkpoint that judges them."""
        for step in self.pending:
            self._journal.append(step)
        self._journal.append(checkpoint)
        self.pending = []

    def append(self, record: Record) -> None:
        """Journal anything else."""
        self._journal.append(record)

    def close(self) -> None:
        """Close the file."""
        self._journal.close()

    def _add(self, step: Step) -> Step:
        self.pending.append(step)
        return step

    def _unique(self, name: str) -> str:
        taken = {step.name for step in self.steps}
        if name not in taken:
            return name
        return next(f"{name} #{n}" for n in range(2, 1000) if f"{name} #{n}" not in taken)
