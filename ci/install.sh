#!/usr/bin/env bash
# Creates a virtual environment with the suite and its locked dependencies:
#
#   ci/install.sh VENV
#
# PYTHON       the interpreter that creates it (python3)
# DGD_CLUSTER  if `kind`, the extra for kind clusters is installed, too
set -euo pipefail

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
venv=${1:?"usage: ci/install.sh VENV"}
python=${PYTHON:-python3}

if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
  echo "error: $python is older than Python 3.11, or is no Python; set PYTHON" >&2
  exit 4
fi

stamp=$venv/.installed-${DGD_CLUSTER:-auto}
if [ ! -e "$stamp" ] || [ "$root/requirements.lock" -nt "$stamp" ] || [ "$root/pyproject.toml" -nt "$stamp" ]; then
  "$python" -m venv "$venv"
  pip=("$venv/bin/python" -m pip --disable-pip-version-check --quiet)
  "${pip[@]}" install --require-hashes -r "$root/requirements.lock"
  "${pip[@]}" install --no-deps --no-build-isolation -e "$root"
  if [ "${DGD_CLUSTER:-auto}" = kind ] && ! "$venv/bin/python" -c 'import pytest_kind' 2>/dev/null; then
    # Locked versions stay as they are; the packages that the extra adds are not in the lock.
    constraints=$(mktemp)
    trap 'rm -f -- "$constraints"' EXIT
    sed -nE 's/^([A-Za-z0-9][^ ]*==[^ ]+).*$/\1/p' "$root/requirements.lock" >"$constraints"
    "${pip[@]}" install --no-build-isolation --constraint "$constraints" -e "${root}[kind]"
  fi
  touch -- "$stamp"
fi
"$venv/bin/python" -m conformance --version
