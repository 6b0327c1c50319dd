"""Long runs, which show what grows or breaks only in time. The commands are `cycles`, `redeploy`
and `stress`."""
