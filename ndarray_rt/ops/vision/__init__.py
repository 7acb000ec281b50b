"""Operators on regions of images: pooling of regions, boxes, anchors, samplers."""
