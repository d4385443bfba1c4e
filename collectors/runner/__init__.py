"""The program that runs on a host, the frames that it sends, and the checks of their values."""
