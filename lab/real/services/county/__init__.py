"""Services of a county: a vet, beekeepers, anglers, an optician, a laundry, a maker of signs."""
