# Sourced, not run. A container is stopped by SIGTERM to its first process, which is a shell here: it
# must pass that on, or nothing is closed and no report is written before SIGKILL comes.
# shellcheck shell=bash

# run_with SIGNAL COMMAND...   runs it, and returns its exit code. SIGINT and SIGTERM to this shell reach
# the command as SIGNAL; the shell goes on after it.
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
  # A signal ends `wait`, not the command. 127: it had ended by itself, and `code` is its own.
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
