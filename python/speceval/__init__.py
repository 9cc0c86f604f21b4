"""Speculative evaluation of stochastic LLMs."""
