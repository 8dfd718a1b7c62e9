"""What all tests need."""

from __future__ import annotations

import signal

# A shell starts background jobs with SIGINT ignored, and processes inherit that: tests that interrupt
# a child by Ctrl-C would wait in vain. Handlers are reset at exec, so a default here is enough.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
