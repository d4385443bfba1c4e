"""The fleet: the newest findings of every host, and the outliers among its peers."""
