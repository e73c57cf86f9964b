"""Server: what all sessions share: names, uploads, the manual, the store."""
