"""Programs that put load on the hosts of the lab, healthy or with a fault."""
