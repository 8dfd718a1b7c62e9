"""Features: what a case may need of an operator, and which ones a conforming operator may lack."""

from __future__ import annotations

import enum

from pydantic import model_validator

from conformance.model.field_types import Reason, Strict


class Feature(enum.StrEnum):
    """What a case may need of an operator. A profile declares it; the suite probes the live API."""

    MULTINODE = "multinode"
    V1ALPHA1 = "v1alpha1"
    V1BETA1 = "v1beta1"
    COMPONENT = "component"
    """Components (DCD) are a served API that users may write."""
    BARE_COMPONENT = "bare-component"
    """A component runs without a graph. Some builds take the pods' ServiceAccount from it."""
    ADMISSION = "admission"
    """The operator has a validating webhook for graphs."""
    RESTART = "restart"
    """The suite can stop, kill and start the operator."""

    @property
    def version(self) -> bool:
        """True if it is an API version, which `versions` declares."""
        return self in (Feature.V1ALPHA1, Feature.V1BETA1)

    @property
    def probed(self) -> bool:
        """True if a profile must declare it wherever the live API has it. So nothing goes untested
        where it is left out."""
        return self.version or self in (Feature.COMPONENT, Feature.ADMISSION)


class Without(Strict):
    """A feature that the operator cannot have, and why. Its cases then do not count against it."""

    feature: Feature
    reason: Reason

    @model_validator(mode="after")
    def _may_be_left_out(self) -> Without:
        if self.feature is not Feature.BARE_COMPONENT:
            raise ValueError(
                f"{self.feature} needs no reason: {_LEFT_OUT[self.feature]}; expected "
                f"{Feature.BARE_COMPONENT}"
            )
        return self


_PROBED = "it may be left out of `features` only where the API does not have it"
_CORE = "a run without it is partial, whatever the reason"
_LEFT_OUT = {feature: _PROBED if feature.probed else _CORE for feature in Feature}
