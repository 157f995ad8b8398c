"""`hedgerow detect` and `hedgerow train-cascade`: detect objects in images."""

import re
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from hedgerow.cli import options
from hedgerow.cli.errors import FAILED, CommandError, UsageError, input_errors
from hedgerow.cli.options import check_choice, check_output_file, describe_file
from hedgerow.cli.output import Output
from hedgerow.vision import (
    CascadeTrainer,
    FaceDetector,
    FileResult,
    detect_files,
    load_cascade,
    results_as_json,
)

FEATURES = ("basic", "core", "all", "lbp")
ALGORITHMS = ("gentle", "real", "discrete")
_OTHER_SUFFIXES = (".yml", ".yaml", ".json", ".gz")  # formats of OpenCV that cannot be written


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


def detect(
    images: Images,
    model: Detector = "frontalface",
    profile: Profile = None,
    out: Folder = None,
    scale_factor: ScaleFactor = 1.1,
    min_neighbors: Neighbors = 3,
    min_size: Smallest = None,
    max_size: Largest = None,
    force: options.Force = False,
    as_json: options.AsJson = False,
) -> None:
    """Find faces, or the objects of a cascade, in images."""
    output = Output(as_json)
    settings: dict[str, Any] = {
        "scale_factor": scale_factor,
        "min_neighbors": min_neighbors,
        "min_size": None if min_size is None else read_size("--min-size", min_size),
        "max_size": None if max_size is None else read_size("--max-size", max_size),
    }
    with output.progress("detecting") as progress, input_errors():
        detector = load_cascade(model) if profile is None else FaceDetector(model, profile)
        results = detect_files(images, detector, out_dir=out, overwrite=force, progress=progress, **settings)
    for result in results:
        _print_result(result, output)
    n_failed = sum(result.error is not None for result in results)
    message = f"{n_failed} of {len(results)} images failed; see above"
    failed = {"error": message, "exit_code": FAILED} if n_failed else {}
    output.result({**results_as_json(results, settings), **failed})
    if n_failed:
        raise CommandError(message, in_json=as_json)


def _print_result(result: FileResult, output: Output) -> None:
    if result.error is not None:
        output.note(result.error)
        return
    found = len(result.detections)
    output.text(f"{result.path}: {result.width} x {result.height} pixels, {found} found", "bold")
    for one in result.detections:
        pose = f", {one.pose}" if hasattr(one, "pose") else ""
        box = f"({one.x}, {one.y}) {one.width} x {one.height}"
        output.text(f"  {box}, score {one.score:.2f}, {one.neighbors} windows{pose}")
    if result.annotated is not None:
        output.text(f"  drawn: {result.annotated}")


def read_size(option: str, text: str) -> tuple[int, int]:
    """Parse a width and a height.

    >>> read_size("--min-size", "24x32")
    (24, 32)
    """
    found = re.fullmatch(r"(\d{1,6})(?:[x×](\d{1,6}))?", text.strip())
    if found is None:
        raise UsageError(f"{option} {text} is not allowed: it must be a width and a height, such as 24x24")
    width = int(found[1])
    return width, int(found[2] or width)


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


def train_cascade(
    positives: Objects,
    negatives: Others,
    out: CascadeFile,
    window: Window = "24x24",
    features: FeatureKind = "basic",
    algorithm: Algorithm = "gentle",
    stages: Stages = 20,
    min_hit_rate: HitRate = 0.995,
    max_false_alarm: FalseAlarm = 0.5,
    max_learners: Learners = 200,
    max_features: Pool = None,
    n_negatives: NegativeWindows = 5000,
    jitter: Copies = 0,
    mirror: Mirror = False,
    checkpoint: Checkpoint = None,
    seed: options.Seed = 0,
    threads: options.Threads = None,
    force: options.Force = False,
    as_json: options.AsJson = False,
) -> None:
    """Train a cascade that finds objects in images."""
    output = Output(as_json)
    check_choice("--features", features, FEATURES)
    check_choice("--algorithm", algorithm, ALGORITHMS)
    options.check_numbers(seed, threads)
    size = read_size("--window", window)
    if out.suffix.lower() in _OTHER_SUFFIXES:
        raise UsageError(f"--out {out}: a cascade is not written as {out.suffix}; use .xml or .hedgerow")
    inputs = (positives, negatives)
    replaces = check_output_file("--out", out, force=force, others=(*inputs, checkpoint))
    # An existing checkpoint is resumed.
    check_output_file("--checkpoint", checkpoint, force=True, others=(*inputs, out))
    for path in inputs:
        if not path.exists():
            raise CommandError(f"{path}: no such file or folder")
    trainer = CascadeTrainer(
        size,
        features=features,
        algorithm=algorithm,
        n_stages=stages,
        min_hit_rate=min_hit_rate,
        max_false_alarm=max_false_alarm,
        max_learners=max_learners,
        max_features=max_features,
        n_negatives=n_negatives,
        jitter=jitter,
        mirror=mirror,
        checkpoint=checkpoint,
        random_state=seed,
        n_jobs=threads,
        verbose=0 if as_json else 2,
    )
    with input_errors():
        trainer.fit(positives, negatives)
        trainer.cascade_.save(out)
    output.text(f"cascade: {describe_file(out, replaced=replaces)}")
    records = [asdict(one) for one in trainer.stages_]
    output.result({"out": str(out), "stop_reason": trainer.stop_reason_, "stages": records})
