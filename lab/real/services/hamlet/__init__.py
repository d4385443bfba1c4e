"""Services of the twenty-sixth set: trades of a hamlet."""
