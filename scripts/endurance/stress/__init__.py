"""All kinds of events at once, beside other tools. `scripts/stress` is the command."""
