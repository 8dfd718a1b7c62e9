"""Nothing stands here: options, fixtures and judging are those of the installed plugin."""
