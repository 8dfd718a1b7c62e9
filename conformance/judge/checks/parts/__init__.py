"""Parts of checkers that are too large for one module; each says of which."""
