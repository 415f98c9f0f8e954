"""What columns and fields of labels are called."""

from __future__ import annotations

# Gold, in the order in which it is looked for; `label` is gold where predictions have another name.
GOLD = (
    "gold", "gold_label", "y_true", "true_label", "target", "truth", "label", "labels", "expected", "reference", "class", "y",
)  # fmt: skip
# What nothing but gold is called.
SURELY_GOLD = frozenset(("gold", "gold_label", "y_true", "true_label", "label", "labels", "target", "truth"))
PREDICTED = (
    "pred", "prediction", "predictions", "predicted", "predicted_label", "pred_label", "y_pred", "output", "response", "answer",
)  # fmt: skip
# What the labels of a system are called where gold is in a file of its own.
CLASSES = ("label", "labels", "class", "category")
# Before u and v.
STEMS = ("", "pred_", "prediction_", "predicted_", "y_pred_", "label_")
