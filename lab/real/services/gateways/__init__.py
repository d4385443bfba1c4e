"""Programs that take requests or messages for others: fcgiwrap and mosquitto."""
