"""Hosts of a quarter of a town: a practice, a school, a marina, a furniture shop and a pharmacy."""
