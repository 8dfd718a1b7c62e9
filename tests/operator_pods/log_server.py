"""The part of an API server that serves pods' logs, over real sockets: each answer is scripted."""

import socket
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from tests.kube.fake_api import write_kubeconfig

Script = Callable[[dict[str, str]], tuple[int, list[str]]]
"""Query → status and the pieces of the body; a piece `...` waits, `!` breaks the connection."""


class LogServer:
    """`script` answers; what was asked is in `asked`."""

    def __init__(self, folder: Path) -> None:
        self.asked: list[dict[str, str]] = []
        self.script: Script = lambda query: (404, ["gone"])
        self.hold = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self.kubeconfig = write_kubeconfig(folder / "kubeconfig", url)

    def close(self) -> None:
        """End the server and what waits."""
        self.hold.set()
        self._server.shutdown()
        self._server.server_close()


def _handler(server: LogServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            query = {key: values[0] for key, values in parse_qs(parts.query).items()}
            server.asked.append({"path": parts.path, **query})
            code, pieces = server.script(query)
            self.send_response(code)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for piece in pieces:
                if piece == "!":
                    self.connection.shutdown(socket.SHUT_RDWR)
                    self.close_connection = True
                    return
                if piece == "...":
                    server.hold.wait(20)
                    continue
                data = piece.encode()
                self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
                self.wfile.flush()
                time.sleep(0.01)
            self.wfile.write(b"0\r\n\r\n")

        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None:
            """Nothing."""

    return Handler
