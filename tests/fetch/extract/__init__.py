"""Tests of the readable text of pages."""
