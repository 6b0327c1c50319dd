"""How scripts say what stops them."""

import re


class Unavailable(SystemExit):
    """What a script needs and cannot get, in a sentence. As a SystemExit, it ends the script unless
    a caller handles it."""

    def __str__(self):
        return str(self.code)


def complaint(output):
    """The most informative line of a failed program's output: the first one that names an error, or
    the last line."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if re.search(r"Exception in thread|(Error|Exception): |^\[?ERROR|^E: ", line)]
    return (errors or lines[-1:] or ["no output"])[0][:200]
