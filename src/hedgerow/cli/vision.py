"""`hedgerow detect` and `hedgerow train-cascade`: detect objects in images."""

import re
from dataclasses import asdict
from typing import Any

from hedgerow.cli.errors import FAILED, CommandError, UsageError, input_errors
from hedgerow.cli.image_commands import ALGORITHMS, FEATURES, Detect, TrainCascade
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
_TRAINER_OPTIONS = (  # that are parameters of the same names
    *("features", "algorithm", "min_hit_rate", "max_false_alarm", "max_learners", "max_features"),
    *("n_negatives", "jitter", "mirror"),
)


def detect(command: Detect) -> None:
    """Find faces, or the objects of a cascade, in images."""
    output, model, profile = Output(command.as_json), command.model, command.profile
    settings: dict[str, Any] = {
        "scale_factor": command.scale_factor,
        "min_neighbors": command.min_neighbors,
        "min_size": read_size("--min-size", command.min_size),
        "max_size": read_size("--max-size", command.max_size),
    }
    writing: dict[str, Any] = {"out_dir": command.out, "overwrite": command.force}
    with output.progress("detecting") as progress, input_errors():
        detector = load_cascade(model) if profile is None else FaceDetector(model, profile)
        results = detect_files(command.images, detector, progress=progress, **writing, **settings)
    for result in results:
        _print_result(result, output)
    n_failed = sum(result.error is not None for result in results)
    message = f"{n_failed} of {len(results)} images failed; see above"
    failed = {"error": message, "exit_code": FAILED} if n_failed else {}
    output.result({**results_as_json(results, settings), **failed})
    if n_failed:
        raise CommandError(message, in_json=command.as_json)


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


def read_size(option: str, text: str | None) -> Any:
    """Parse a width and a height; None for None.

    >>> read_size("--min-size", "24x32")
    (24, 32)
    """
    if text is None:
        return None
    found = re.fullmatch(r"(\d{1,6})(?:[x×](\d{1,6}))?", text.strip())
    if found is None:
        raise UsageError(f"{option} {text} is not allowed: it must be a width and a height, such as 24x24")
    width = int(found[1])
    return width, int(found[2] or width)


def train_cascade(command: TrainCascade) -> None:
    """Train a cascade that detects objects in images."""
    output, out, checkpoint = Output(command.as_json), command.out, command.checkpoint
    check_choice("--features", command.features, FEATURES)
    check_choice("--algorithm", command.algorithm, ALGORITHMS)
    check_numbers(command.seed, command.threads)
    size = read_size("--window", command.window)
    if out.suffix.lower() in _OTHER_SUFFIXES:
        raise UsageError(f"--out {out}: a cascade is not written as {out.suffix}; use .xml or .hedgerow")
    inputs = (command.positives, command.negatives)
    replaces = check_output_file("--out", out, force=command.force, others=(*inputs, checkpoint))
    # An existing checkpoint is resumed.
    check_output_file("--checkpoint", checkpoint, force=True, others=(*inputs, out))
    for path in inputs:
        if not path.exists():
            raise CommandError(f"{path}: no such file or folder")
    trainer = CascadeTrainer(
        size,
        n_stages=command.stages,
        checkpoint=checkpoint,
        random_state=command.seed,
        n_jobs=command.threads,
        verbose=0 if command.as_json else 2,
        **{name: getattr(command, name) for name in _TRAINER_OPTIONS},
    )
    with input_errors():
        trainer.fit(*inputs)
        trainer.cascade_.save(out)
    output.text(f"cascade: {describe_file(out, replaced=replaces)}")
    records = [asdict(one) for one in trainer.stages_]
    output.result({"out": str(out), "stop_reason": trainer.stop_reason_, "stages": records})
