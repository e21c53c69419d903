"""An HTTP client with one deadline for a whole call: no vendors, no policy, no state but idle connections.

From the bottom up: `call` holds the state of one call; `connection` enforces its deadline on a socket; `resolver` and
`dial` open connections; `pool` keeps them; `head` and `exchange` send a request and read its answer; `body` and
`endpoint` turn that into JSON.
"""
