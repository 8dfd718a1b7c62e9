#!/usr/bin/env bash
# Builds the suite's image. This script fetches the wheels of the locked dependencies, so that `docker build`
# needs no network.
#
#   ci/image/build.sh [--with-programs] [IMAGE]     (dgd-conformance:VERSION)
#
# --with-programs  adds the programs of the embedded control plane (0.5 GB), for CIs without Docker
# BASE             image with Python 3.11 or newer, bash and tar (python:3.13-slim)
# PYTHON           interpreter with pip (python3); for --with-programs one that has the suite. Wheels are for
#                  one version of Python: if BASE has another, they are fetched within BASE, which then needs
#                  the network.
# DOCKER           docker
# WHEELHOUSE       folder that keeps fetched wheels (~/.cache/dgd-conformance/wheelhouse)
set -euo pipefail

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
base=${BASE:-python:3.13-slim}
python=${PYTHON:-python3}
docker=${DOCKER:-docker}
programs=
if [ "${1:-}" = --with-programs ]; then
  programs=yes
  shift
fi
version=$(sed -nE 's/^__version__ = "(.*)"$/\1/p' "$root/conformance/__init__.py")
image=${1:-dgd-conformance:$version}

# shellcheck disable=SC2016
minor='import sys; print("%d.%d" % sys.version_info[:2])'
theirs=$("$docker" run --rm --entrypoint python3 "$base" -c "$minor") || {
  echo "error: $base cannot be run, or holds no python3; set BASE" >&2
  exit 4
}
lock=$(sha256sum <"$root/requirements.lock" | cut -c1-12)
wheelhouse=${WHEELHOUSE:-${XDG_CACHE_HOME:-$HOME/.cache}/dgd-conformance/wheelhouse}/$theirs-$lock
context=$(mktemp -d)
trap 'rm -rf -- "$context"' EXIT
mkdir -p -- "$wheelhouse" "$context/cache"

fetch=(-m pip download --quiet --disable-pip-version-check --only-binary=:all: --require-hashes)
if [ "$("$python" -c "$minor")" = "$theirs" ]; then
  "$python" "${fetch[@]}" -r "$root/requirements.lock" -d "$wheelhouse"
else
  "$docker" run --rm -v "$root/requirements.lock:/requirements.lock:ro" -v "$wheelhouse:/wheelhouse" \
    --entrypoint python3 "$base" "${fetch[@]}" -r /requirements.lock -d /wheelhouse
fi

cp -R -- "$wheelhouse" "$context/wheelhouse"
"$python" -m pip wheel --quiet --disable-pip-version-check --no-deps --no-index \
  --find-links "$wheelhouse" --wheel-dir "$context/wheelhouse" "$root"
cp -R -- "$root/ci" "$context/ci"
if [ -n "$programs" ]; then
  "$python" -m conformance.cluster.programs
  cache=dgd-conformance/programs
  mkdir -p -- "$context/cache/$cache"
  "$python" "$root/ci/image/programs.py" "$context/cache/$cache"
fi
chmod -R a+rX -- "$context"
"$docker" build --quiet --build-arg "BASE=$base" -t "$image" -f "$root/ci/image/Dockerfile" "$context"
echo "$image"
