#!/usr/bin/env bash
# Have an image for Python programs, dgd-conformance/python:offline, in the local
# Docker daemon: what `docker build --build-arg BASE=...` takes on a machine that
# cannot pull python:3.13-slim. Run as root, with dockerd up (start-dockerd.sh).
#
# Debian with python3, CA certificates and a virtual environment that stands
# first on PATH, so that `python` and `pip` do what they do in the official image.
# Built once, from the packages of this machine's apt archive, and kept as a tar
# in $CACHE; later runs load that tar.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

IMAGE=${KIND_OFFLINE_PYTHON_IMAGE:-dgd-conformance/python:offline}
LABEL=kind-offline.inputs
inputs=$(hash_of image_archive.py lib.sh python-base.sh)
archive=$CACHE/python-$inputs.tar

docker info >/dev/null 2>&1 || die "no dockerd answers; run start-dockerd.sh first"
if [ "$(docker image inspect --format "{{index .Config.Labels \"$LABEL\"}}" "$IMAGE" 2>/dev/null)" = "$inputs" ]; then
  log "$IMAGE is there already"
  exit 0
fi
mkdir -p "$CACHE/debs"
if [ ! -e "$archive" ]; then
  need debootstrap debootstrap jq jq
  WORK=$(mktemp -d "$CACHE/python.XXXXXX")
  trap 'rm -rf --one-file-system "$WORK"' EXIT
  ROOT=$WORK/rootfs

  # The mirror is the one that this machine's apt uses.
  log "debootstrap $SUITE with Python"
  mirror=$(apt-get indextargets --format '$(RELEASE) $(REPO_URI)' 'Created-By: Packages' |
    awk -v suite="$SUITE" '$1 == suite { print $2; exit }')
  nice -n 10 debootstrap --variant=minbase --cache-dir="$CACHE/debs" \
    --include=ca-certificates,python3,python3-venv \
    "$SUITE" "$ROOT" ${mirror:+"$mirror"} >"$CACHE/debootstrap-python.log" 2>&1 ||
    { tail -n 20 "$CACHE/debootstrap-python.log" >&2; die "debootstrap failed"; }
  chroot "$ROOT" python3 -m venv /opt/python

  # No package is installed into it later, and nobody reads manuals there. Neither
  # the sources of this machine's apt nor its name may get into an image.
  rm -rf "$ROOT"/etc/{hostname,resolv.conf} "$ROOT"/etc/apt/sources.list* "$ROOT"/var/cache/apt/* \
    "$ROOT"/var/lib/apt/lists/* "$ROOT"/var/log/* "$ROOT"/var/cache/debconf/* \
    "$ROOT"/usr/share/{doc,man,locale,info,i18n,lintian,bash-completion}/* "$ROOT"/usr/lib/*/gconv
  find "$ROOT" -xdev -name __pycache__ -type d -prune -exec rm -rf {} +

  log "writing $archive"
  jq -n --arg tag "$IMAGE" --arg root "$ROOT" --arg key "$LABEL" --arg inputs "$inputs" '[{
      tags: [$tag], root: $root, owners: true, exclude: ["dev", "proc", "run", "sys", "tmp"],
      config: {
        Env: ["PATH=/opt/python/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
              "LANG=C.UTF-8"],
        Cmd: ["python3"],
        Labels: {($key): $inputs}}}]' >"$WORK/python.json"
  nice -n 10 "$HERE/image_archive.py" "$archive.new" "$WORK/python.json"
  mv "$archive.new" "$archive"
  find "$CACHE" -maxdepth 1 -name 'python-*.tar' ! -path "$archive" -delete
fi
log "loading $archive"
docker load --quiet --input "$archive" >&2
