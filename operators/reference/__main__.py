"""Command line of the reference operator: ``python -m reference --kubeconfig FILE ...``."""

import argparse
import logging
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from .client import Client, ConfigError, in_pod, load_kubeconfig
from .faults import FAULTS, Faults, Policy, UnknownFaultError
from .manager import Manager
from .objects import DEPLOYMENT, SINGLE_NODE
from .webhooks import Admission, WebhookServer

log = logging.getLogger("reference")

EXIT_USAGE = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until SIGTERM or SIGINT. Returns 0, or 2 for a mistake in the command line."""
    options = _parse(arguments)
    if options.list_faults:
        for name, info in FAULTS.items():
            print("\t".join((name, info.checker, info.case, info.profile, info.breaks)))
        return 0
    _set_up_logging()
    try:
        faults = Faults(options.fault)
        where = load_kubeconfig(options.kubeconfig) if options.kubeconfig else in_pod()
        single_node = SINGLE_NODE[options.single_node_kind]
        manager = Manager(Client(where), faults, single_node=single_node)
        admission = Admission(
            Policy(options.policy),
            faults,
            manager.graphs.act_on_refused,
            single_node=single_node,
        )
        host = options.bind_address
        webhooks = WebhookServer(options.webhook_port, options.cert_dir, admission, host=host)
        health = _health_server(host, options.health_port, lambda: manager.ready)
    except (ConfigError, UnknownFaultError) as error:
        return _usage(str(error))
    except OSError as error:
        return _usage(f"{error}: expected tls.crt and tls.key in --cert-dir, and free ports")
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    webhooks.start()
    threading.Thread(target=health.serve_forever, name="health", daemon=True).start()
    # The main thread stays free for signals while the caches fill.
    threading.Thread(target=manager.start, name="start", daemon=True).start()
    names = ", ".join(options.fault) or "none"
    log.info("started with policy %s, faults: %s", options.policy, names)
    stop.wait()
    log.info("stopping")
    manager.stop()
    return 0


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="reference", description=__doc__)
    parser.add_argument(
        "--kubeconfig", type=Path, help="file; its current context is used (default: the pod's own)"
    )
    parser.add_argument(
        "--bind-address", default="127.0.0.1", help="where both ports listen (default: %(default)s)"
    )
    parser.add_argument("--webhook-port", type=int, default=9443)
    parser.add_argument("--cert-dir", type=Path, help="folder with tls.crt and tls.key")
    parser.add_argument("--health-port", type=int, default=8081)
    parser.add_argument(
        "--policy",
        choices=[policy.value for policy in Policy],
        default=Policy.RECONCILE.value,
        help="what to do with a change of topology (default: %(default)s)",
    )
    parser.add_argument(
        "--single-node-kind",
        choices=list(SINGLE_NODE),
        default=DEPLOYMENT.kind,
        help="what runs a component without multinode (default: %(default)s)",
    )
    parser.add_argument("--fault", action="append", default=[], metavar="NAME", help="repeatable")
    parser.add_argument("--list-faults", action="store_true", help="print the faults and exit")
    options = parser.parse_args(arguments)
    if not options.list_faults and not options.cert_dir:
        parser.error("--cert-dir is required")
    return options


def _usage(message: str) -> int:
    print(f"reference: {message}", file=sys.stderr)
    return EXIT_USAGE


def _set_up_logging() -> None:
    formatter = logging.Formatter("%(asctime)s.%(msecs)03dZ %(levelname)s %(message)s")
    formatter.datefmt = "%Y-%m-%dT%H:%M:%S"
    formatter.converter = time.gmtime
    handler = logging.StreamHandler()
    handler.setFormatter(formatter)
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    logging.getLogger("urllib3").setLevel(logging.ERROR)


def _health_server(host: str, port: int, is_ready: Callable[[], bool]) -> ThreadingHTTPServer:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            ok = self.path == "/healthz" or (self.path == "/readyz" and is_ready())
            known = self.path in ("/healthz", "/readyz")
            body = (b"ok" if ok else b"not ready") if known else b"not found"
            self.send_response(200 if ok else 503 if known else 404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Probes are not logged."""

    return ThreadingHTTPServer((host, port), Handler)


if __name__ == "__main__":
    sys.exit(main())
