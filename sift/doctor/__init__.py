"""What is wrong with a set-up, and the cure: checks over what was observed (contract: Doctor)."""
