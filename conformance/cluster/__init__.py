"""Clusters to test on: where their programs come from, how they start, and that nothing survives
them."""

import enum


class ClusterKind(enum.StrEnum):
    """The values of `--cluster`. What `auto` means depends on the profile."""

    AUTO = "auto"
    EMBEDDED = "embedded"
    KIND = "kind"
    KUBECONFIG = "kubeconfig"
