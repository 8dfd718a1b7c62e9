"""The test environment as a case sees it: how to reach cluster, record and operator."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, SkipValidation

from conformance import __version__
from conformance.history.records import Header
from conformance.model.bounds import Bounds
from conformance.model.profile import Profile
from conformance.operator.installed import OperatorControl


class CaseEnvironment(BaseModel):
    """One cluster with one operator. Its owner publishes it as JSON to the processes that run cases."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    profile: Profile
    bounds: Bounds
    kubeconfig: Path
    recording: Path
    """Directory in which the recorder writes."""
    results: Path
    operator_events: Path
    """File in which the owner notes what happens to the operator."""
    operator_log: Path | None = None
    versions: Mapping[str, str] = {}
    users: Mapping[str, str] = {}
    """User names of the audit log → actors."""
    audited: bool = True
    """False where there is no audit log: field managers then tell who wrote."""
    delete_namespaces: bool = False
    """False in a cluster that is thrown away: deleting namespaces there is only load."""
    run: str = ""
    """Id of the run in the labels of its namespaces; empty where nothing must be found again."""
    attachable: Mapping[str, Any] | None = None
    """Where the operator is, if another process may stop it."""
    control: SkipValidation[OperatorControl | None] = Field(default=None, exclude=True)
    """None where the case must not stop the operator, because others share it."""

    @property
    def operator(self) -> str:
        """The operator's name."""
        return self.profile.identity.name

    def header(self, **fields: Any) -> Header:
        """The header of a history that is recorded here; `fields` say what it is of."""
        return Header(
            operator=self.operator, profile=self.profile.model_dump(mode="json"),
            bounds=self.bounds.to_json(), versions={"suite": __version__, **self.versions},
            users=self.users, audited=self.audited, **fields,
        )  # fmt: skip
