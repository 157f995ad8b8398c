import numpy as np
import pytest

from cascade_files import make_model
from hedgerow.vision.cascade import Cascade, load_cascade
from hedgerow.vision.detections import Detection
from hedgerow.vision.faces import Face, FaceDetector

IMAGE = np.zeros((100, 200), np.uint8)
IMAGE[:, 150:] = 200  # its mirror image is another one


class Fixed:
    """Detects fixed objects in the image and others in its mirror image, and records its calls."""

    def __init__(self, found=(), mirrored=()):
        self.found, self.mirrored, self.calls = found, mirrored, []

    def detect(self, image, scale_factor=1.1, min_neighbors=3, **options):
        assert image.flags.c_contiguous
        self.calls.append({"scale_factor": scale_factor, "min_neighbors": min_neighbors} | options)
        return list(self.mirrored if image[0, 0] else self.found)


def at(x, neighbors=5, score=1.0, size=40):
    return Detection(x, 30, size, size, score, neighbors)


def test_frontal_faces_alone():
    faces = FaceDetector(Fixed([at(20, 5), at(100, 9)])).detect(IMAGE)
    assert faces == [Face(100, 30, 40, 40, 1.0, 9, "frontal"), Face(20, 30, 40, 40, 1.0, 5, "frontal")]


def test_profiles_in_the_mirrored_image_face_the_other_side():
    profile = Fixed([at(10)], mirrored=[at(30)])
    poses = {face.pose: face.x for face in FaceDetector(Fixed(), profile).detect(IMAGE)}
    assert poses == {"left": 10, "right": 200 - 30 - 40}
    poses = {face.pose: face.x for face in FaceDetector(Fixed(), profile, profile_side="right").detect(IMAGE)}
    assert poses == {"right": 10, "left": 130}


@pytest.mark.parametrize(("frontal", "left", "kept"), [(5, 6, "left"), (6, 5, "frontal"), (5, 5, "frontal")])
def test_overlapping_poses_keep_the_one_with_more_windows(frontal, left, kept):
    detector = FaceDetector(Fixed([at(60, frontal, score=9.0)]), Fixed([at(70, left, score=99.0)]))
    assert [face.pose for face in detector.detect(IMAGE)] == [kept]


def test_a_profile_inside_a_larger_face_is_the_same_face():
    detector = FaceDetector(Fixed([at(20, 9, size=60)]), Fixed([at(30, 4, size=20)]))
    assert [face.pose for face in detector.detect(IMAGE)] == ["frontal"]


def test_faces_side_by_side_are_all_kept():
    profile = Fixed([at(20)], mirrored=[at(200 - 45 - 40)])  # 25 of 40 pixels apart: less than half in common
    assert [face.pose for face in FaceDetector(Fixed(), profile).detect(IMAGE)] == ["left", "right"]


def test_settings_are_passed_to_every_cascade():
    frontal, profile = Fixed(), Fixed()
    FaceDetector(frontal, profile).detect(IMAGE, 1.2, 4, (20, 20), (90, 90), n_jobs=1)
    settings = {"scale_factor": 1.2, "min_neighbors": 4, "min_size": (20, 20), "max_size": (90, 90)}
    wanted = settings | {"n_jobs": 1}
    assert frontal.calls == [wanted]
    assert profile.calls == [wanted, wanted]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"frontal": 7}, "frontal of type int is not allowed"),
        ({"frontal": Fixed(), "profile": 7}, "profile of type int"),
        ({"frontal": Fixed(), "profile_side": "up"}, "profile_side='up'"),
    ],
)
def test_invalid_arguments_raise(options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        FaceDetector(**options)


def test_opencv_cascades_detect_the_astronaut():
    cv2 = pytest.importorskip("cv2")
    skimage = pytest.importorskip("skimage")
    folder = cv2.data.haarcascades
    detector = FaceDetector(
        folder + "haarcascade_frontalface_alt2.xml", load_cascade(folder + "haarcascade_profileface.xml")
    )
    image = skimage.data.astronaut()
    faces = detector.detect(image, min_size=(60, 60))
    assert [face.pose for face in faces] == ["frontal"]
    assert abs(faces[0].x + faces[0].width / 2 - 222) < 12
    assert abs(faces[0].y + faces[0].height / 2 - 120) < 20


def test_mirroring_the_image_swaps_left_and_right():
    cv2 = pytest.importorskip("cv2")
    skimage = pytest.importorskip("skimage")
    profile = load_cascade(cv2.data.haarcascades + "haarcascade_profileface.xml")
    image = cv2.cvtColor(skimage.data.astronaut(), cv2.COLOR_RGB2GRAY)[20:220, 130:320].copy()
    other = {"frontal": "frontal", "left": "right", "right": "left"}
    detector = FaceDetector(Fixed(), profile)
    faces = detector.detect(image, min_neighbors=1)
    mirrored = detector.detect(np.ascontiguousarray(image[:, ::-1]), min_neighbors=1)
    swapped = {f._replace(x=image.shape[1] - f.x - f.width, pose=other[f.pose]) for f in mirrored}
    assert faces
    assert swapped == set(faces)


def test_repr_shows_the_cascades():
    frontal = Cascade(make_model())
    assert repr(FaceDetector(frontal, profile=None)) == f"FaceDetector({frontal!r}, profile=None)"
    shown = repr(FaceDetector(frontal, profile=frontal, profile_side="left"))
    assert shown == f"FaceDetector({frontal!r}, profile={frontal!r}, profile_side='left')"
