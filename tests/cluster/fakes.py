"""Stand-ins for what the programs come from: a release server, a Go toolchain, programs
themselves."""

import contextlib
import hashlib
import http.server
import io
import tarfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from conformance.cluster.programs.pins import LWS_CRDS, PINS, Program
from conformance.cluster.programs.sources import architecture

CRD = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  names: {kind: Thing, plural: things}
  versions:
    - name: v1
      schema:
        openAPIV3Schema:
          type: object
          description: left out
          properties:
            description: {type: string, description: left out, maxLength: 7}
"""


def says(program: Program, version: str | None = None) -> str:
    """What a program answers to --version, as the real ones word it."""
    version = PINS[program].version if version is None else version
    match program:
        case Program.ETCD:
            return f"etcd Version: {version}\nGit SHA: none"
        case Program.LWS:
            return f"Version: v{version}\nBuild Date: N/A"
        case Program.KWOK:
            return f"kwok version v{version} go1.26 (linux/amd64)"
        case _:
            return f"Kubernetes v{version}"


def program_at(path: Path, text: str) -> Path:
    """An executable that prints the text."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\ncat <<'END'\n{text}\nEND\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def module_at(path: Path) -> Path:
    """A Go module directory with the two CRDs."""
    for name in LWS_CRDS:
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(CRD, encoding="utf-8")
    return path


def go_at(
    path: Path, *, log: Path, module: Path, version: str = "go1.26.1", build: str = ""
) -> Path:
    """A `go` that logs each build, runs the shell lines `build`, and writes the program."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f"""#!/bin/sh
case "$1" in
  env) echo {version} ;;
  mod) echo '{{"Dir": "{module}"}}' ;;
  build)
    echo "$6 $PWD $GOFLAGS $CGO_ENABLED" >> {log}
    [ "$4" = -o ] || exit 9
    {build}
    printf '#!/bin/sh\\necho built by go\\n' > "$5" ;;
esac
""",
        encoding="utf-8",
    )
    path.chmod(0o755)
    return path


@dataclass
class ReleaseServer:
    """Files by path, and what was asked for."""

    files: dict[str, bytes] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    url: str = ""

    def publish(self, program: Program, content: bytes, *, checksum: str | None = None) -> None:
        """A release as its project lays it out, with a right or the given checksum."""
        pin = PINS[program]
        assert pin.release is not None
        fields = {"version": pin.version, "arch": architecture()}
        path = pin.release.path.format(**fields)
        if pin.release.member is not None:
            content = _archive(pin.release.member.format(**fields), content)
        listed = pin.release.checksums.endswith("SUMS")
        digest = checksum or hashlib.sha256(content).hexdigest()
        name = path.rsplit("/", 1)[1]
        text = f"{'0' * 64}  other.tar.gz\n{digest}  {name}\n" if listed else f"{digest}\n"
        self.files[f"/{path}"] = content
        self.files[f"/{pin.release.checksums.format(**fields)}"] = text.encode()

    @property
    def environ(self) -> dict[str, str]:
        """Makes all releases come from here."""
        return {
            pin.release.base_variable: self.url for pin in PINS.values() if pin.release is not None
        }


@contextlib.contextmanager
def release_server() -> Iterator[ReleaseServer]:
    """An HTTP server on loopback."""
    state = ReleaseServer()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            state.asked.append(self.path)
            content = state.files.get(self.path)
            self.send_response(404 if content is None else 200)
            self.send_header("Content-Length", str(len(content or b"")))
            self.end_headers()
            self.wfile.write(content or b"")

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()


def _archive(member: str, content: bytes) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        info = tarfile.TarInfo(member)
        info.size = len(content)
        tar.addfile(info, io.BytesIO(content))
    return buffer.getvalue()
