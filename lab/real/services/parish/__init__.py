"""Services of a parish: a taxi company, a seed dealer, salons, a lender of instruments, a surveyor."""
