"""A web application that is redeployed again and again. `scripts/redeploy` is the command."""
