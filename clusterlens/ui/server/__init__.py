"""Server: resources of all sessions: host names, uploads, the manual, the store."""
