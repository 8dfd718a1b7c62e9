"""The programs of the embedded control plane: pinned, found, downloaded or built."""
