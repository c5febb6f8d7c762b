"""The static side: source and settings files to findings, without importing what it reads."""
