#!/usr/bin/env bash
# Waits for the Job's shards, fetches their results and joins them:
#
#   ci/kubernetes/collect.sh OUT     (OUT/shard-1 ... and, joined, OUT/merged)
#
# PYTHON         interpreter that has the suite (python3)
# KUBECTL        kubectl with options, such as `kubectl --context=mine`
# DGD_NAMESPACE  namespace of the Job (dgd-conformance)
# DGD_JOB        its name (dgd-conformance)
# DGD_TIMEOUT    seconds to wait for all shards (7200)
# The exit code is that of `report merge`: 0, or 1 if the joined report violates or is unknown; 3 if a shard
# left no results.
set -euo pipefail

out=${1:?"usage: ci/kubernetes/collect.sh OUT"}
python=${PYTHON:-python3}
read -ra kubectl <<<"${KUBECTL:-kubectl}"
kubectl+=("--namespace=${DGD_NAMESPACE:-dgd-conformance}")
job=${DGD_JOB:-dgd-conformance}
deadline=$((SECONDS + ${DGD_TIMEOUT:-7200}))
collector=$job-collector

say() { echo "$(date +%T) $*" >&2; }
fail() {
  echo "error: $*" >&2
  exit 3
}
job_field() { "${kubectl[@]}" get job "$job" -o "jsonpath=$1"; }
# The newest pod of an index; empty if there is none.
pod_of() {
  "${kubectl[@]}" get pods --sort-by=.metadata.creationTimestamp \
    -l "batch.kubernetes.io/job-name=$job,batch.kubernetes.io/job-completion-index=$1" \
    -o 'jsonpath={range .items[*]}{.metadata.name}{"\n"}{end}' | tail -n 1
}
phase_of() { "${kubectl[@]}" get pod "$1" -o 'jsonpath={.status.phase}'; }

# fetch POD CONTAINER PLACE SHARD   copies the tarball if it is complete. `exec cat`, because `kubectl cp`
# needs tar in the image and breaks at symbolic links.
fetch() {
  local pod=$1 container=$2 file=$3/shard-$4
  "${kubectl[@]}" exec "$pod" -c "$container" -- test -e "$file.code" 2>/dev/null || return 1
  rm -rf -- "$out/shard-$4"
  { "${kubectl[@]}" exec "$pod" -c "$container" -- cat "$file.tar.gz" >"$out/shard-$4.tar.gz" &&
    tar -C "$out" -xzf "$out/shard-$4.tar.gz" && rm -- "$out/shard-$4.tar.gz"; } ||
    fail "the results of shard $4 could not be fetched from pod $pod"
  say "shard $4: fetched"
}

shards=$(job_field '{.spec.completions}')
[ -n "$shards" ] || fail "job $job has no completions; is it the Indexed Job of ci/kubernetes?"
claim=$(job_field '{.spec.template.spec.volumes[?(@.name=="results")].persistentVolumeClaim.claimName}')
mkdir -p -- "$out"

held_shards() {
  local shard pod done_with=()
  while [ "${#done_with[@]}" -lt "$shards" ]; do
    for ((shard = 1; shard <= shards; shard++)); do
      [[ " ${done_with[*]} " == *" $shard "* ]] && continue
      pod=$(pod_of $((shard - 1)))
      [ -n "$pod" ] || continue
      case $(phase_of "$pod") in
        Running)
          fetch "$pod" suite /results "$shard" || continue
          "${kubectl[@]}" exec "$pod" -c suite -- touch "/results/shard-$shard.collected"
          ;;
        Succeeded | Failed) fail "pod $pod of shard $shard ended before its results were fetched" ;;
        *) continue ;;
      esac
      done_with+=("$shard")
    done
    [ "$SECONDS" -lt "$deadline" ] || fail "shards ${done_with[*]:-none} of $shards ended in time"
    sleep "${DGD_POLL:-2}"
  done
}

claimed_shards() {
  local shard pod ended=''
  while [ -z "$ended" ]; do
    [ "$SECONDS" -lt "$deadline" ] || fail "job $job did not end in time"
    ended=$(job_field '{range .status.conditions[?(@.status=="True")]}{.type}{"\n"}{end}' |
      grep -xE 'Complete|Failed' || true)
    [ -n "$ended" ] || sleep "${DGD_POLL:-2}"
  done
  say "job $job: $ended"
  # The pods have ended, so a separate pod reads the volume; it uses the image that the node already has.
  "${kubectl[@]}" delete pod "$collector" --ignore-not-found --wait
  trap '"${kubectl[@]}" delete pod "$collector" --ignore-not-found --wait=false >/dev/null' EXIT
  job_field '{.spec.template.spec}' | "$python" -c '
import json, sys
name, claim = sys.argv[1:]
spec = json.load(sys.stdin)
suite = next(one for one in spec["containers"] if one["name"] == "suite")
mount = {"name": "results", "mountPath": "/results", "readOnly": True}
container = {"name": "collector", "image": suite["image"], "command": ["sleep", "3600"]}
container["imagePullPolicy"] = suite.get("imagePullPolicy", "IfNotPresent")
container["volumeMounts"] = [mount]
kept = ("affinity", "tolerations", "nodeSelector", "securityContext", "imagePullSecrets")
pod = {key: spec[key] for key in kept if key in spec}
volume = {"name": "results", "persistentVolumeClaim": {"claimName": claim}}
pod.update(restartPolicy="Never", volumes=[volume], containers=[container])
pod.update(automountServiceAccountToken=False, terminationGracePeriodSeconds=0)
meta = {"name": name}
json.dump({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": pod}, sys.stdout)
' "$collector" "$claim" | "${kubectl[@]}" create -f - >/dev/null
  until [ "$(phase_of "$collector")" = Running ]; do
    [ "$SECONDS" -lt "$deadline" ] || fail "pod $collector does not start"
    sleep "${DGD_POLL:-2}"
  done
  for ((shard = 1; shard <= shards; shard++)); do
    fetch "$collector" collector /results "$shard" || fail "shard $shard left no results in claim $claim"
  done
}

if [ -n "$claim" ]; then claimed_shards; else held_shards; fi

folders=()
for ((shard = 1; shard <= shards; shard++)); do folders+=("$out/shard-$shard"); done
code=0
"$python" -m conformance report merge "$out/merged" "${folders[@]}" || code=$?
exit "$code"
