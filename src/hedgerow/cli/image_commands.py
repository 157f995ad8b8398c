"""The options of the commands of images; `vision` does the work."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from hedgerow.cli import options

FEATURES = ("basic", "core", "all", "lbp")
ALGORITHMS = ("gentle", "real", "discrete")

Images = Annotated[list[Path], options.argument("IMAGE...", "Image files.")]
Detector = Annotated[
    str, options.option("CASCADE", "frontalface, a cascade file of Hedgerow, or an OpenCV XML file.")
]
Profile = Annotated[str | None, options.option("CASCADE", "A second cascade, for profiles that face left.")]
Folder = Annotated[Path | None, options.option("FOLDER", "A folder for copies with rectangles.")]
ScaleFactor = Annotated[float, options.option("NUMBER", "Factor between consecutive object sizes.")]
Neighbors = Annotated[
    int, options.option("NUMBER", "Minimum number of overlapping windows besides the first.")
]
Smallest = Annotated[str | None, options.option("WxH", "Smallest object size.")]
Largest = Annotated[str | None, options.option("WxH", "Largest object size.")]


@dataclass(frozen=True)
class Detect:
    """Find faces, or the objects of a cascade, in images."""

    images: Images
    model: Detector = "frontalface"
    profile: Profile = None
    out: Folder = None
    scale_factor: ScaleFactor = 1.1
    min_neighbors: Neighbors = 3
    min_size: Smallest = None
    max_size: Largest = None
    force: options.Force = False
    as_json: options.AsJson = False


Objects = Annotated[
    Path, options.argument("POSITIVES", "Images of the objects: a folder, an annotation file or a .vec file.")
]
Others = Annotated[
    Path, options.argument("NEGATIVES", "Images without objects: a folder, or a file of paths.")
]
CascadeFile = Annotated[
    Path,
    options.option("FILE", "The cascade file: OpenCV's format for the suffix .xml, otherwise Hedgerow's."),
]
Window = Annotated[str, options.option("WxH", "Size of the detection window.")]
FeatureKind = Annotated[str, options.option("NAME", f"Kind of features: {', '.join(FEATURES)}.")]
Algorithm = Annotated[str, options.option("NAME", f"Boosting algorithm: {', '.join(ALGORITHMS)}.")]
Stages = Annotated[int, options.option("NUMBER", "Maximum number of stages.")]
HitRate = Annotated[float, options.option("SHARE", "Minimum share of objects that a stage accepts.")]
FalseAlarm = Annotated[float, options.option("SHARE", "Maximum share of other windows that a stage accepts.")]
Learners = Annotated[int, options.option("NUMBER", "Maximum number of trees of a stage.")]
Pool = Annotated[
    int | None, options.option("NUMBER", "Number of features sampled for a stage; all by default.")
]
NegativeWindows = Annotated[int, options.option("NUMBER", "Number of negative windows for a stage.")]
Copies = Annotated[int, options.option("NUMBER", "Number of shifted copies of each object.")]
Mirror = Annotated[bool, typer.Option("--mirror", help="Add mirror images of the objects.")]
Checkpoint = Annotated[
    Path | None, options.option("FILE", "A file written after every stage, from which training resumes.")
]


@dataclass(frozen=True)
class TrainCascade:
    """Train a cascade that detects objects in images."""

    positives: Objects
    negatives: Others
    out: CascadeFile
    window: Window = "24x24"
    features: FeatureKind = "basic"
    algorithm: Algorithm = "gentle"
    stages: Stages = 20
    min_hit_rate: HitRate = 0.995
    max_false_alarm: FalseAlarm = 0.5
    max_learners: Learners = 200
    max_features: Pool = None
    n_negatives: NegativeWindows = 5000
    jitter: Copies = 0
    mirror: Mirror = False
    checkpoint: Checkpoint = None
    seed: options.Seed = 0
    threads: options.Threads = None
    force: options.Force = False
    as_json: options.AsJson = False
