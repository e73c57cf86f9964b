"""Pages, and the panels of the Consensus page: each reads the Session and draws."""
