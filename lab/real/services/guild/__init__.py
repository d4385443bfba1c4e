"""Guilds of a town: a brewery, a museum, a locksmith, a tailor and an observatory."""
