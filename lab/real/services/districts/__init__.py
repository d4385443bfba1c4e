"""Hosts of districts of a city: a zoo, a college, building sites, trails and a proxy of offices."""
