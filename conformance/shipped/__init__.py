"""In an installed package cases, fixtures and profiles stand here; in a checkout, at the top level."""
