"""Records as lines of JSON. Each names its type in the field `record`."""

from collections.abc import Mapping
from typing import Annotated, Any, Generic, TypeVar

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

T = TypeVar("T")


class LineFormat(Generic[T]):
    """Writes and reads the dataclasses of one union."""

    def __init__(self, union: Any) -> None:
        self._adapter: TypeAdapter[T] = TypeAdapter(
            Annotated[union, Field(discriminator="record")], config=ConfigDict(extra="forbid")
        )

    def encode(self, record: T) -> bytes:
        """The line, with its end. Raises ValueError if the record holds anything but plain data."""
        return self._adapter.dump_json(record, fallback=_plain, warnings="none") + b"\n"

    def decode(self, line: bytes | str) -> T:
        """The record of one line. Raises ValueError, in one sentence, if it is none of the union."""
        try:
            return self._adapter.validate_json(line)
        except ValidationError as error:
            raise ValueError(_sentence(error)) from error

    def from_data(self, data: Mapping[str, Any]) -> T:
        """As `decode`, for a line that is parsed already."""
        try:
            return self._adapter.validate_python(data)
        except ValidationError as error:
            raise ValueError(_sentence(error)) from error


def _sentence(error: ValidationError) -> str:
    detail = error.errors(include_url=False)[0]
    field = ".".join(str(part) for part in detail["loc"])
    return f"{field}: {detail['msg']}" if field else detail["msg"]


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a record holds a {type(value).__name__}, expected plain data")
