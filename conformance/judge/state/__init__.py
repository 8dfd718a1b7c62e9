"""What must be true of a state for given graphs. Pure; used to stop waiting and to judge."""
