"""Cascades: train, exchange and run Viola-Jones detectors.

    images ──▶ integral images ──▶ Haar or LBP features ──▶ boosted stages ──▶ cascade ──▶ detections

`load_cascade` reads model files of Hedgerow and OpenCV; `CascadeTrainer` trains new cascades. Image files
require the extra `vision` (Pillow); arrays do not.
"""

from hedgerow.vision.annotate import (
    FileResult,
    detect_files,
    detections_as_json,
    draw_detections,
    results_as_json,
)
from hedgerow.vision.cascade import Cascade, load_cascade
from hedgerow.vision.detections import Detection, Detections, Grouped, group_rectangles
from hedgerow.vision.faces import Face, FaceDetector
from hedgerow.vision.features import HaarFeatures, LBPFeatures
from hedgerow.vision.images import (
    as_grey,
    integral_image,
    rectangle_sum,
    squared_integral_image,
    tilted_integral_image,
    tilted_sum,
)
from hedgerow.vision.samples import Jitter, Samples, load_negatives, load_positives
from hedgerow.vision.sources import read_vec, write_vec
from hedgerow.vision.trainer import CascadeTrainer
from hedgerow.vision.training_data import StageReport

__all__ = [
    "Cascade",
    "CascadeTrainer",
    "Detection",
    "Detections",
    "Face",
    "FaceDetector",
    "FileResult",
    "Grouped",
    "HaarFeatures",
    "Jitter",
    "LBPFeatures",
    "Samples",
    "StageReport",
    "as_grey",
    "detect_files",
    "detections_as_json",
    "draw_detections",
    "group_rectangles",
    "integral_image",
    "load_cascade",
    "load_negatives",
    "load_positives",
    "read_vec",
    "rectangle_sum",
    "results_as_json",
    "squared_integral_image",
    "tilted_integral_image",
    "tilted_sum",
    "write_vec",
]
