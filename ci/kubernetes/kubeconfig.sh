#!/usr/bin/env bash
# Writes a kubeconfig for a pod from the files of its ServiceAccount; its only context is `in-cluster`:
#
#   ci/kubernetes/kubeconfig.sh FILE
#
# KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT   as Kubernetes sets them in every pod
# SERVICE_ACCOUNT   folder that holds token, ca.crt and namespace
set -euo pipefail

file=${1:?"usage: ci/kubernetes/kubeconfig.sh FILE"}
account=${SERVICE_ACCOUNT:-/var/run/secrets/kubernetes.io/serviceaccount}

for part in token ca.crt namespace; do
  if [ ! -r "$account/$part" ]; then
    echo "error: $account/$part cannot be read: this is no pod, or its ServiceAccount is not mounted" \
      "(automountServiceAccountToken)" >&2
    exit 4
  fi
done
if [ -z "${KUBERNETES_SERVICE_HOST:-}" ]; then
  echo "error: KUBERNETES_SERVICE_HOST is not set: this is no pod" >&2
  exit 4
fi
host=$KUBERNETES_SERVICE_HOST
case $host in *:*) host="[$host]" ;; esac

umask 077
mkdir -p -- "$(dirname -- "$file")"
# By file, not by value: the kubelet renews the token.
cat >"$file" <<END
apiVersion: v1
kind: Config
current-context: in-cluster
contexts:
- name: in-cluster
  context: {cluster: in-cluster, user: service-account, namespace: $(cat -- "$account/namespace")}
clusters:
- name: in-cluster
  cluster:
    server: https://$host:${KUBERNETES_SERVICE_PORT:-443}
    certificate-authority: $account/ca.crt
users:
- name: service-account
  user:
    tokenFile: $account/token
END
