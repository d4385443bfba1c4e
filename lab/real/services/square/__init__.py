"""Companies of a square: a campsite, guesthouses, a tea shop, a bicycle shop and a caterer."""
