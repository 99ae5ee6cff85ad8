"""Rows of sparse numbers: the XMC repository's forms, svmlight and Vowpal Wabbit."""
