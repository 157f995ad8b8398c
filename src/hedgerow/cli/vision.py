"""`hedgerow detect` and `hedgerow train-cascade`: detect objects in images."""

import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hedgerow.cli.errors import FAILED, CommandError, UsageError, input_errors
from hedgerow.cli.image_commands import ALGORITHMS, FEATURES
from hedgerow.cli.options import check_choice, check_numbers, check_output_file, describe_file
from hedgerow.cli.output import Output
from hedgerow.vision import (
    CascadeTrainer,
    FaceDetector,
    FileResult,
    detect_files,
    load_cascade,
    results_as_json,
)

_OTHER_SUFFIXES = (".yml", ".yaml", ".json", ".gz")  # formats of OpenCV that cannot be written


def detect(
    images: list[Path],
    *,
    model: str,
    profile: str | None,
    out: Path | None,
    min_size: str | None,
    max_size: str | None,
    force: bool,
    as_json: bool,
    **settings: Any,
) -> None:
    """Find faces, or the objects of a cascade, in images; `settings` are those of the detector."""
    output = Output(as_json)
    settings |= {
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


def train_cascade(
    positives: Path,
    negatives: Path,
    out: Path,
    *,
    window: str,
    checkpoint: Path | None,
    seed: int,
    threads: int | None,
    force: bool,
    as_json: bool,
    **settings: Any,
) -> None:
    """Train a cascade that detects objects in images; `settings` are those of the trainer."""
    output = Output(as_json)
    check_choice("--features", settings["features"], FEATURES)
    check_choice("--algorithm", settings["algorithm"], ALGORITHMS)
    check_numbers(seed, threads)
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
        n_stages=settings.pop("stages"),
        checkpoint=checkpoint,
        random_state=seed,
        n_jobs=threads,
        verbose=0 if as_json else 2,
        **settings,
    )
    with input_errors():
        trainer.fit(positives, negatives)
        trainer.cascade_.save(out)
    output.text(f"cascade: {describe_file(out, replaced=replaces)}")
    records = [asdict(one) for one in trainer.stages_]
    output.result({"out": str(out), "stop_reason": trainer.stop_reason_, "stages": records})
