"""The forms of other programs' search APIs, for clients that know no other; each is loaded with its first request."""
