"""draftfs: many agents write, one person chooses, and a worker that stalled and came back changes nothing."""
