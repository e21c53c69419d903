"""The benchmark: `python -m tests.bench`. It measures ratios against baselines; see docs/performance.md."""
