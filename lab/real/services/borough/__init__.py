"""Services of a borough: a hirer of costumes, a bottler, a tire dealer, a landlord, a shop for hampers."""
