"""Types of the fields of a profile: the strict base model, and strings with a rule."""

import re
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field


class Strict(BaseModel):
    """Unknown fields are errors; nothing changes afterwards."""

    # The docstrings under the fields become the descriptions in the published JSON schema.
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


def _expression(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"not a regular expression: {error}") from error
    return text


def url(text: str) -> str:
    """The text, if it is empty or an HTTP URL. Raises ValueError."""
    if text and not text.startswith(("http://", "https://")):
        raise ValueError("not a URL that starts with http:// or https://")
    return text


Expression = Annotated[str, AfterValidator(_expression)]
Reason = Annotated[str, Field(min_length=1)]
Url = Annotated[str, AfterValidator(url)]
PortName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
DnsLabel = Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", max_length=63)]
