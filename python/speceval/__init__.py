"""speceval tells a program which rollouts of a stochastic model to run next.

The mean over the tasks of a benchmark comes with its error, for an exact budget of
rollouts that go where they help most. `speceval.inspect` is for evaluations in
Inspect, `speceval.client` for loops of one's own. The work is done by the program
`speceval`, which this package starts and talks to.
"""

from .client import Client, ProtocolError

__all__ = ["Client", "ProtocolError"]
