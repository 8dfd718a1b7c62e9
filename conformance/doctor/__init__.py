"""What this machine has, which kinds of cluster would work on it, and what to install for those that
would not. Nothing is built, downloaded or started."""
