"""The gate at the end of a run: did the operator leave anything outside the cases' namespaces?"""

from __future__ import annotations

import contextlib
import json
import time
from pathlib import Path
from typing import Any

from conformance.checkers.judge import judge
from conformance.driver.namespaces import LABEL
from conformance.driver.session import Session
from conformance.history import store
from conformance.history.history import History
from conformance.history.records import Event, Header, Moment, MomentEnd, Record, Scope, from_json
from conformance.kube import Api, Resource
from conformance.model.errors import ConformanceError
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND, GROUP
from conformance.model.profile import Feature
from conformance.record.layout import CLUSTER, RECORDER, LineReader, live_file
from conformance.record.process import unseen_kinds
from conformance.report.build import case_result, history_file
from conformance.report.collect import history_path, write_case

CASE = "run/nothing_left_elsewhere"
TITLE = "Outside the cases' namespaces the operator leaves nothing but keepers."
# A hundred graphs at once need some 20 s on two cores; one that is stuck must not hold up the end.
_GONE_SECONDS = 60.0
_SETTLE_SECONDS = 1.0


def judge_run(session: Session, *, started_at: float) -> None:
    """Record and judge the end of a run; the result stands beside those of the cases."""
    began = time.time()
    header = Header(
        case=CASE, feature="whole run", title=TITLE, operator=session.operator, namespace="",
        profile=session.profile.model_dump(mode="json"), bounds=session.bounds.to_json(),
        versions=dict(session.versions), scope=Scope.RUN, users=session.users,
        started_at=started_at,
    )  # fmt: skip
    problem = ""
    try:
        _delete_graphs(session)
    except ConformanceError as error:  # a dead API server, a kubeconfig that went with it
        problem = str(error)
    time.sleep(_SETTLE_SECONDS)
    records = _read(session.recording, since=started_at)
    revision = max((r.revision for r in records if isinstance(r, Event)), default=0)
    moment = Moment(
        name="end of the run", at=time.time(), since=began, end=MomentEnd.HELD, revision=revision,
        graphs=(),
    )  # fmt: skip
    history = History([header, *records, moment])
    judgement = judge(history)
    path = history_path(session.results, CASE, session.operator)
    store.write(path, history)
    result = case_result(
        history, judgement, duration=time.time() - began, error=problem,
        history_file=history_file(path, results=session.results),
    )  # fmt: skip
    write_case(session.results, result)


def _delete_graphs(session: Session) -> None:
    """Delete every graph that is left in the suite's namespaces, and wait until they are gone."""
    end = time.monotonic() + _GONE_SECONDS
    with Api.from_kubeconfig(session.kubeconfig) as api:
        kinds = [api.resource_for(GRAPH_KIND, GROUP)]
        if session.profile.supports(Feature.COMPONENT):
            kinds.append(api.resource_for(COMPONENT_KIND, GROUP))
        owned = {
            item["metadata"]["name"]
            for item in api.metadata_list(api.resource_for("Namespace", ""))[0]
            if item["metadata"].get("labels", {}).get(LABEL)
        }

        def left(kind: Resource) -> list[dict[str, Any]]:
            found = (item["metadata"] for item in api.metadata_list(kind)[0])
            return [meta for meta in found if meta["namespace"] in owned]

        for kind in kinds:
            for meta in left(kind):
                api.delete(kind, meta["name"], meta["namespace"])
            while time.monotonic() < end and left(kind):
                time.sleep(session.bounds.poll)


def _read(recording: Path, *, since: float) -> list[Record]:
    """Everything of cluster-scoped objects and of namespaces that the suite did not make."""
    cluster = _records(live_file(recording, ""), since=since)
    owned = {
        record.obj.name
        for record in cluster
        if isinstance(record, Event)
        and record.obj.kind == "Namespace"
        and record.obj.labels.get(LABEL)
    }
    others = [
        path
        for path in sorted(live_file(recording, "").parent.glob("*.jsonl"))
        if path.stem not in owned | {CLUSTER, RECORDER}
    ]
    unseen = unseen_kinds(recording)
    return [*cluster, *unseen, *(r for path in others for r in _records(path, since=since))]


def _records(path: Path, *, since: float) -> list[Record]:
    found = []
    # The recorder still writes: the last line may be half there.
    with contextlib.closing(LineReader(path)) as reader:
        for line in reader.read():
            data = json.loads(line)
            # Nodes and the platform's own settings change all the time and are nobody's left-over.
            if float(data.get("at", 0.0)) >= since:
                found.append(from_json(data))
    return found
