"""Time accounts of services: where the time of their threads and requests goes."""
