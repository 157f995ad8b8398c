"""Cascades: Haar and LBP features, training, detection, and OpenCV's files."""
