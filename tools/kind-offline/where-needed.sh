#!/usr/bin/env bash
# where-needed.sh IMAGE COMMAND [ARGUMENT...]: run a command that makes a kind cluster from the node image
# IMAGE. Where Docker has that image or can pull it, the command runs as it is; where it cannot, with
# kind, kubectl and images that are built here first (README.md), if this machine can build them.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

image=$1
shift

# Somebody chose already; or the command is to say what is missing, as it can say it best.
if [ -n "${DGD_CONFORMANCE_KIND_IMAGE:-}" ] || ! docker info >/dev/null 2>&1; then exec "$@"; fi
if docker image inspect "$image" >/dev/null 2>&1; then exec "$@"; fi
if docker pull "$image" >&2; then exec "$@"; fi

if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null || ! command -v go >/dev/null; then
  log "$image cannot be pulled, and only root on Debian with Go can build another here"
  exec "$@"
fi
log "$image cannot be pulled; kind and a node image are built from packages and Go modules instead," \
  "which takes some 25 minutes the first time"
"$HERE/node-image.sh"
"$HERE/python-base.sh"
. "$HERE/env.sh"
exec "$@"
