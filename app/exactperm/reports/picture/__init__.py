"""The picture of a null distribution, as SVG and PNG."""
