"""HTTP with one deadline for a whole call: no vendor, no policy, nothing of the environment, no state but connections.

From the bottom up: `call` is what a call knows of itself; `connection` keeps its deadline on a socket; `resolver` and
`dial` make connections; `pool` keeps them; `head` and `exchange` send a request and read its answer; `body` and
`endpoint` make JSON of it.
"""
