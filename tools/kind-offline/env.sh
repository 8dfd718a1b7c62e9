# What a run needs to know to use what these scripts built; sourced, not run.
# shellcheck shell=bash
# Programs first, then images: of the node, of LeaderWorkerSet and KWOK (empty: from the programs and Go
# modules that are here, not from a registry), and below the reference operator.
export PATH="${KIND_OFFLINE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/kind-offline}/bin:$PATH"
export DGD_CONFORMANCE_KIND_IMAGE=${KIND_OFFLINE_IMAGE:-kindest/node:offline}
export DGD_CONFORMANCE_IMAGE_REGISTRY='' DGD_CONFORMANCE_LWS_URL=''
export DGD_CONFORMANCE_PYTHON_IMAGE=${KIND_OFFLINE_PYTHON_IMAGE:-dgd-conformance/python:offline}
