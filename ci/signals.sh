# Sourced, not run. Kubernetes and Docker stop a container by SIGTERM to its first process, which is a shell
# here. The shell must pass the signal on, or nothing is closed and no report is written before SIGKILL.
# shellcheck shell=bash

# run_with SIGNAL COMMAND...   runs the command and returns its exit code. SIGINT and SIGTERM to this shell
# reach the command as SIGNAL; afterwards the shell goes on.
run_with() {
  local signal=$1 child='' interrupted='' code=0 again
  shift
  # Without job control a background command ignores SIGINT.
  set -m
  trap 'interrupted=yes; [ -z "$child" ] || kill -s "$signal" "$child" 2>/dev/null || true' INT TERM
  "$@" </dev/null &
  child=$!
  [ -z "$interrupted" ] || kill -s "$signal" "$child" 2>/dev/null || true
  wait "$child" || code=$?
  # A signal ends `wait`, not the command. 127 means that the command had already ended with `code`.
  while [ -n "$interrupted" ]; do
    interrupted=''
    again=0
    wait "$child" || again=$?
    [ "$again" = 127 ] || code=$again
  done
  trap - INT TERM
  set +m
  return "$code"
}
