"""`hedgerow detect` and `hedgerow train-cascade`: objects in images."""

import re
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from hedgerow.cli import options, tables
from hedgerow.cli.errors import FAILED, UsageError, WorkError
from hedgerow.cli.output import Output
from hedgerow.cli.places import check_new_file, written
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


Images = Annotated[list[Path], typer.Argument(metavar="IMAGE...", help="Image files.", show_default=False)]
Detector = Annotated[
    str, typer.Option(metavar="CASCADE", help="frontalface, a cascade of Hedgerow's or OpenCV's XML file.")
]
Profile = Annotated[
    str | None,
    typer.Option(metavar="CASCADE", help="A second one, of faces that look to the left.", show_default=False),
]
Folder = Annotated[
    Path | None, typer.Option(metavar="FOLDER", help="Where copies with rectangles go.", show_default=False)
]
ScaleFactor = Annotated[float, typer.Option(metavar="NUMBER", help="Between the sizes looked for.")]
Neighbors = Annotated[int, typer.Option(metavar="NUMBER", help="Windows that must agree, beside the first.")]
Smallest = Annotated[
    str | None, typer.Option(metavar="WxH", help="The smallest size looked for.", show_default=False)
]
Largest = Annotated[
    str | None, typer.Option(metavar="WxH", help="The largest size looked for.", show_default=False)
]


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
    """Find faces, or what a cascade was trained for, in images."""
    output = Output(as_json)
    settings: dict[str, Any] = {
        "scale_factor": scale_factor,
        "min_neighbors": min_neighbors,
        "min_size": None if min_size is None else read_size("--min-size", min_size),
        "max_size": None if max_size is None else read_size("--max-size", max_size),
    }
    detector = load_cascade(model) if profile is None else FaceDetector(model, profile)
    with output.progress("looking") as told:
        results = detect_files(images, detector, out_dir=out, overwrite=force, told=told, **settings)
    for result in results:
        _tell(result, output)
    n_failed = sum(result.error is not None for result in results)
    words = f"{n_failed} of {len(results)} images could not be done; see above"
    failed = {"error": words, "exit_code": FAILED} if n_failed else {}
    output.result({**results_as_json(results, settings), **failed})
    if n_failed:
        raise WorkError(words, told=as_json)


def _tell(result: FileResult, output: Output) -> None:
    if result.error is not None:
        output.note(result.error)
        return
    found = len(result.detections)
    output.say(f"{result.path}: {result.width} x {result.height} pixels, {found} found", "bold")
    for one in result.detections:
        pose = f", {one.pose}" if hasattr(one, "pose") else ""
        place = f"({one.x}, {one.y}) {one.width} x {one.height}"
        output.say(f"  {place}, score {one.score:.2f}, {one.neighbors} windows{pose}")
    if result.annotated is not None:
        output.say(f"  drawn: {result.annotated}")


def read_size(option: str, words: str) -> tuple[int, int]:
    """Width and height.

    >>> read_size("--min-size", "24x32")
    (24, 32)
    """
    found = re.fullmatch(r"(\d{1,6})(?:[x×](\d{1,6}))?", words.strip())
    if found is None:
        raise UsageError(f"{option} {words} is not allowed: it must be a width and a height, such as 24x24")
    width = int(found[1])
    return width, int(found[2] or width)


Objects = Annotated[
    Path,
    typer.Argument(
        metavar="POSITIVES",
        help="The objects: a folder, an annotation file or a .vec file.",
        show_default=False,
    ),
]
Others = Annotated[
    Path,
    typer.Argument(
        metavar="NEGATIVES",
        help="Images without the object: a folder, or a file of paths.",
        show_default=False,
    ),
]
CascadeFile = Annotated[
    Path,
    typer.Option(
        metavar="FILE", help="OpenCV's format if it ends in .xml, else Hedgerow's.", show_default=False
    ),
]
Window = Annotated[str, typer.Option(metavar="WxH", help="Of the cascade.")]
FeatureKind = Annotated[str, typer.Option(metavar="NAME", help=f"One of {', '.join(FEATURES)}.")]
Algorithm = Annotated[str, typer.Option(metavar="NAME", help=f"One of {', '.join(ALGORITHMS)}.")]
Stages = Annotated[int, typer.Option(metavar="NUMBER", help="At the most.")]
HitRate = Annotated[float, typer.Option(metavar="SHARE", help="Of the objects, for a stage.")]
FalseAlarm = Annotated[float, typer.Option(metavar="SHARE", help="Of other windows, for a stage.")]
Learners = Annotated[int, typer.Option(metavar="NUMBER", help="Trees of a stage, at the most.")]
Pool = Annotated[
    int | None, typer.Option(metavar="NUMBER", help="Drawn for a stage; all by default.", show_default=False)
]
NegativeWindows = Annotated[int, typer.Option(metavar="NUMBER", help="Windows a stage is boosted on.")]
Copies = Annotated[int, typer.Option(metavar="NUMBER", help="Moved copies of each object.")]
Mirror = Annotated[bool, typer.Option("--mirror", help="Add mirror images of the objects.")]
Checkpoint = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Written after every stage, and gone on from.", show_default=False),
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
    tables.check_choice("--features", features, FEATURES)
    tables.check_choice("--algorithm", algorithm, ALGORITHMS)
    tables.check_numbers(seed, threads)
    replaces = check_new_file("--out", out, force=force)
    check_new_file("--checkpoint", checkpoint, force=True)  # one that is there is gone on from
    for path in (positives, negatives):
        if not path.exists():
            raise WorkError(f"{path}: no such file or folder")
    trainer = CascadeTrainer(
        read_size("--window", window),
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
    ).fit(positives, negatives)
    trainer.cascade_.save(out)
    output.say(f"cascade: {written(out, replaced=replaces)}")
    told = {
        "out": str(out),
        "stop_reason": trainer.stop_reason_,
        "stages": [asdict(one) for one in trainer.stages_],
    }
    output.result(told)
