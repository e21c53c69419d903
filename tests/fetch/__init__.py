"""Tests of opening pages."""
