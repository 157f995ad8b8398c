"""The options of the commands of images; `vision` does the work."""

from dataclasses import dataclass
from pathlib import Path

from hedgerow.cli import options
from hedgerow.cli.options import argument_field, field, flag_field

FEATURES = ("basic", "core", "all", "lbp")
ALGORITHMS = ("gentle", "real", "discrete")


@dataclass(frozen=True)
class Detect:
    """Find faces, or the objects of a cascade, in images."""

    images: list[Path] = argument_field("IMAGE...", "Image files.")
    model: str = field(
        "frontalface", "CASCADE", "frontalface, a cascade file of Hedgerow, or an OpenCV XML file."
    )
    profile: str | None = field(None, "CASCADE", "A second cascade, for profiles that face left.")
    out: Path | None = field(None, "FOLDER", "A folder for copies with rectangles.")
    scale_factor: float = field(1.1, "NUMBER", "Factor between consecutive object sizes.")
    min_neighbors: int = field(3, "NUMBER", "Minimum number of overlapping windows besides the first.")
    min_size: str | None = field(None, "WxH", "Smallest object size.")
    max_size: str | None = field(None, "WxH", "Largest object size.")
    force: options.Force = False
    as_json: options.AsJson = False


@dataclass(frozen=True)
class TrainCascade:
    """Train a cascade that detects objects in images."""

    positives: Path = argument_field(
        "POSITIVES", "Images of the objects: a folder, an annotation file or a .vec file."
    )
    negatives: Path = argument_field("NEGATIVES", "Images without objects: a folder, or a file of paths.")
    out: Path = field(
        ..., "FILE", "The cascade file: OpenCV's format for the suffix .xml, otherwise Hedgerow's."
    )
    window: str = field("24x24", "WxH", "Size of the detection window.")
    features: str = field("basic", "NAME", f"Kind of features: {', '.join(FEATURES)}.")
    algorithm: str = field("gentle", "NAME", f"Boosting algorithm: {', '.join(ALGORITHMS)}.")
    stages: int = field(20, "NUMBER", "Maximum number of stages.")
    min_hit_rate: float = field(0.995, "SHARE", "Minimum share of objects that a stage accepts.")
    max_false_alarm: float = field(0.5, "SHARE", "Maximum share of other windows that a stage accepts.")
    max_learners: int = field(200, "NUMBER", "Maximum number of trees of a stage.")
    max_features: int | None = field(
        None, "NUMBER", "Number of features sampled for a stage; all by default."
    )
    n_negatives: int = field(5000, "NUMBER", "Number of negative windows for a stage.")
    jitter: int = field(0, "NUMBER", "Number of shifted copies of each object.")
    mirror: bool = flag_field("Add mirror images of the objects.", "--mirror")
    checkpoint: Path | None = field(
        None, "FILE", "A file written after every stage, from which training resumes."
    )
    seed: options.Seed = 0
    threads: options.Threads = None
    force: options.Force = False
    as_json: options.AsJson = False
