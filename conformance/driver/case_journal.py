"""The journal of one case: its steps have unique names, and are on disk with their checkpoint.

`record.journal.Journal`, the file, writes any record at once. This one holds steps back, since a case
says only at its checkpoint what they may end as.
"""

import dataclasses
import itertools
import time
from pathlib import Path
from typing import Any

from conformance.driver.requests import Sent
from conformance.history.records import Checkpoint, Expect, Foreign, Record, Step
from conformance.model.transition import ChangeKind
from conformance.record.journal import Journal


class CaseJournal(Journal):
    """What a case did so far."""

    def __init__(self, path: Path, *, namespace: str) -> None:
        super().__init__(path)
        self._namespace = namespace
        self.pending: list[Step] = []
        """Steps since the last checkpoint."""

    @property
    def records(self) -> list[Record]:
        """Everything so far, pending steps last."""
        return [*super().records, *self.pending]

    @property
    def steps(self) -> list[Step]:
        return [record for record in self.records if isinstance(record, Step)]

    @property
    def checkpoints(self) -> list[Checkpoint]:
        return [record for record in self.records if isinstance(record, Checkpoint)]

    @property
    def others(self) -> frozenset[str]:
        """Uids of objects that the case created as somebody else's."""
        return frozenset(r.uid for r in self.records if isinstance(r, Foreign))

    def sent(self, sent: Sent, *, expect: Expect | None = None, **fields: Any) -> Step:
        """Note a request with its answer. `fields` are the rest of the Step."""
        return self._add(
            target=sent.name, target_kind=sent.kind, expect=expect or Expect.PROMISE,
            request=sent.request, sent_at=sent.sent_at, answered_at=sent.answered_at,
            code=sent.answer.code, answer=sent.summary, generation_before=sent.generation_before,
            revision_before=sent.revision_before,
            generation_after=int(sent.metadata.get("generation", sent.generation_before)),
            revision_after=int(sent.metadata.get("resourceVersion", 0)), **fields,
        )  # fmt: skip

    def unsent(self, name: str, kinds: tuple[ChangeKind, ...], **fields: Any) -> Step:
        """Note what was done without a request: idling, stopping the operator, a superseded step."""
        now = time.time()
        given: dict[str, Any] = {
            "target": "", "target_kind": "", "door": "", "expect": Expect.RECONCILE,
            "moves_generation": False, **fields,
        }  # fmt: skip
        return self._add(
            name=name, kinds=kinds, request={}, sent_at=now, answered_at=now, code=0, **given
        )

    def expect(self, what: Expect) -> None:
        """Fix what pending steps may end as, where a step has not fixed it itself."""
        self.pending = [
            dataclasses.replace(step, expect=what) if step.expect is Expect.PROMISE else step
            for step in self.pending
        ]

    def judged_by(self, checkpoint: Checkpoint) -> None:
        """Write the pending steps and the checkpoint that judges them."""
        for step in self.pending:
            self.append(step)
        self.append(checkpoint)
        self.pending = []

    def _add(self, *, name: str, judged: bool = True, **fields: Any) -> Step:
        taken = {step.name for step in self.steps}
        names = itertools.chain([name], (f"{name} #{n}" for n in itertools.count(2)))
        unique = next(one for one in names if one not in taken)
        step = Step(name=unique, namespace=self._namespace, judged=judged, **fields)
        self.pending.append(step)
        return step
