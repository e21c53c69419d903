"""`make fuzz`: schemathesis against a service with demo sources, where nothing can leave the machine."""
