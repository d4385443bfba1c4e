"""Hosts of trades: a florist, a print shop, a ferry line, a cinema and an insurer."""
