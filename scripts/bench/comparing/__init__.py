"""Works under several tracers: the sections `work`, `peers` and `trail`."""
