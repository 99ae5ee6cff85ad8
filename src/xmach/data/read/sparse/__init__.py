"""Readers of sparse rows: the formats of the XMC repository, svmlight and Vowpal Wabbit."""
