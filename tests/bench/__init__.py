"""The benchmark: `python -m tests.bench`. Ratios against yardsticks of the same run; docs/performance.md says how."""
