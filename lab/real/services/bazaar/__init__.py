"""Shops of a bazaar: a bakery, a watchmaker, cheese, spices and yarn."""
