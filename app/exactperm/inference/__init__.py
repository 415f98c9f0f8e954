"""Inference: from data, a statistic and options to a record of the answer."""
