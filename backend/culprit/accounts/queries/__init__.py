"""SELECTs of accounts, one module per subject."""
