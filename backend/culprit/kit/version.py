"""The version of the platform, as the API and the command line say it."""

VERSION = "0.1.0"
